"""A client of Anthropic with a memory. A stand-in answers for the provider, so it runs offline."""

import anthropic
import httpx2

import pagefault

REPLY = {"id": "1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
REPLY |= {"content": [{"type": "text", "text": "Noted."}], "usage": {"input_tokens": 9}}
stand_in = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=REPLY)))

plain = anthropic.Anthropic(api_key="none", http_client=stand_in)
with pagefault.wrap(plain, session="ana", memory=":memory:") as client:
    said = [{"role": "user", "content": "The spare key hangs behind the barrel."}]
    print(client.messages.create(model="m", max_tokens=99, messages=said).content[0].text)
    print([hit.excerpt for hit in pagefault.behind(client).recall("spare key").hits])
