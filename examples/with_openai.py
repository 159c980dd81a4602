"""A client of OpenAI with a memory. A stand-in answers for the provider, so it runs offline."""

import httpx2
import openai

import pagefault

SAYS = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Noted."}}
REPLY = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [SAYS]}
stand_in = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=REPLY)))

plain = openai.OpenAI(api_key="none", http_client=stand_in)
with pagefault.wrap(plain, session="ana", memory=":memory:") as client:
    said = [{"role": "user", "content": "The spare key hangs behind the barrel."}]
    print(client.chat.completions.create(model="m", messages=said).choices[0].message.content)
    print([hit.excerpt for hit in pagefault.behind(client).recall("spare key").hits])
