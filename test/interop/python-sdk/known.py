"""Calls a server that asks for a key with the published Python library, which finds in the card where the key goes.

Prints one JSON object: what each step brought, by its name. Judging it is the business of whoever ran this.
"""

import asyncio
import json
import sys

import grpc.aio
import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, InMemoryContextCredentialStore
from a2a.types import a2a_pb2 as a2a
from google.protobuf.json_format import MessageToDict


def say(text):
    message = a2a.Message(message_id="py", role=a2a.ROLE_USER, parts=[a2a.Part(text=text)])
    return a2a.SendMessageRequest(message=message)


async def attempt(answer):
    """What a call or a stream brings, or its error by the name of the library's class."""
    try:
        if hasattr(answer, "__aiter__"):
            return [MessageToDict(event) async for event in answer]
        return MessageToDict(await answer)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}


async def steps(url, binding, key):
    store = InMemoryContextCredentialStore()
    await store.set_credentials("known", "key", key)
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
    config = {"supported_protocol_bindings": [binding], "grpc_channel_factory": grpc.aio.insecure_channel}
    client = ClientFactory(ClientConfig(**config)).create(card, [AuthInterceptor(store)])

    def known():
        return ClientCallContext(state={"sessionId": "known"})

    async with client:
        return {
            "stranger": await attempt(client.send_message(say("echo hello"))),
            "stream": await attempt(client.send_message(say("stream 3 4"), context=known())),
            "extended": await attempt(
                client.get_extended_agent_card(a2a.GetExtendedAgentCardRequest(), context=known())
            ),
            "list": await attempt(client.list_tasks(a2a.ListTasksRequest(), context=known())),
        }


print(json.dumps(asyncio.run(steps(*sys.argv[1:4]))))
