"""Verifies a signed card with the Python library, and signs one.

    client.py <url of the server> <file of a private key, PKCS #8>
"""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import AgentCard
from a2a.utils import signing
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt import PyJWK


def verifies(card, keys, algorithm):
    def provide(kid, jku):
        key = keys[kid]
        if key["alg"] != algorithm:
            raise signing.PyJWTError("another algorithm")
        return PyJWK(key)

    try:
        signing.create_signature_verifier(provide, [algorithm])(card)
        return True
    except signing.InvalidSignaturesError:
        return False


async def main(url, file):
    async with httpx.AsyncClient() as http:
        answer = await http.get(f"{url}/.well-known/jwks.json")
        keys = {key["kid"]: key for key in answer.json()["keys"]}
        card = await A2ACardResolver(http, url).get_agent_card()
    seen = {"verified": {alg: verifies(card, keys, alg) for alg in ("ES256", "RS256", "EdDSA")}}

    changed = AgentCard()
    changed.CopyFrom(card)
    changed.name = "Other"
    seen["tampered"] = verifies(changed, keys, "ES256")

    del card.signatures[:]
    with open(file, "rb") as opened:
        key = load_pem_private_key(opened.read(), None)
    header = {"alg": "ES256", "kid": "python", "typ": "JOSE"}
    signed = signing.create_agent_card_signer(key, header)(card)
    # The card as the library's server serves it, with the fields of A2A 0.3 that it adds after signing.
    seen["signed"] = agent_card_to_dict(signed)
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
