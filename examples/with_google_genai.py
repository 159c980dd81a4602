"""A client of google-genai with a memory. A stand-in answers for the provider: it runs offline."""

import httpx2
from google import genai

import pagefault

SAYS = {"content": {"role": "model", "parts": [{"text": "Noted."}]}, "finishReason": "STOP"}
REPLY = httpx2.Response(200, json={"candidates": [SAYS]})
stand_in = httpx2.Client(transport=httpx2.MockTransport(lambda _: REPLY))

plain = genai.Client(api_key="none", http_options={"httpx_client": stand_in})
with pagefault.wrap(plain, session="ana", memory=":memory:") as client:
    told = "The spare key hangs behind the barrel."
    print(client.models.generate_content(model="m", contents=told).text)
    print([hit.excerpt for hit in pagefault.behind(client).recall("spare key").hits])
