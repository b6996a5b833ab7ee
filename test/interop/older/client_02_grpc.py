"""Calls a server over gRPC with the published Python library for A2A 0.2.

Prints one JSON object: what each step brought, by its name. Judging it is the business of whoever ran this. Push configurations cannot be
tried: the library reads no name of one whose task has a hyphen in its id.
"""

import asyncio
import json
import sys
import uuid

import grpc.aio
import httpx
from a2a.client import A2ACardResolver
from a2a.client.grpc_client import A2AGrpcClient
from a2a.grpc import a2a_pb2_grpc
from a2a.types import (
    MessageSendConfiguration,
    MessageSendParams,
    PushNotificationConfig,
    TaskIdParams,
    TaskQueryParams,
)

url, _transport, hook = sys.argv[1:]


def params(text, configuration=None, **more):
    message = {"role": "user", "messageId": str(uuid.uuid4()), "parts": [{"kind": "text", "text": text}], **more}
    return MessageSendParams(message=message, configuration=configuration)


def texts_of(parts):
    return [getattr(part.root, "text", None) for part in parts]


def shown(result):
    if result.kind == "task":
        texts = [text for artifact in result.artifacts or [] for text in texts_of(artifact.parts)]
        return {"kind": "task", "id": result.id, "state": result.status.state.value, "texts": texts}
    if result.kind == "artifact-update":
        return {"kind": result.kind, "texts": texts_of(result.artifact.parts)}
    if result.kind == "status-update":
        return {"kind": result.kind, "state": result.status.state.value, "final": result.final}
    return {"kind": result.kind, "texts": texts_of(result.parts)}


async def attempt(answer):
    try:
        return shown(await answer)
    except grpc.aio.AioRpcError as error:
        return {"error": error.code().name}


async def address(http):
    """Cards of 0.2 name no gRPC: whoever uses it was told where it is."""
    card = (await http.get(f"{url}/.well-known/agent-card.json", headers={"A2A-Version": "0.3"})).json()
    return next(each["url"] for each in card["additionalInterfaces"] if each["transport"] == "GRPC")


async def steps():
    seen = {}
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        seen["card"] = card.model_dump(mode="json", by_alias=True, exclude_none=True)
        target = await address(http)
    async with grpc.aio.insecure_channel(target.removeprefix("http://")) as channel:
        client = A2AGrpcClient(a2a_pb2_grpc.A2AServiceStub(channel), card)

        async def send(*args, **more):
            return shown(await client.send_message(params(*args, **more)))

        at_once = MessageSendConfiguration(accepted_output_modes=["text/plain"], blocking=False)
        waiting = MessageSendConfiguration(accepted_output_modes=["text/plain"], blocking=True)
        sent = seen["sent"] = await send("hello", waiting)
        paper = params("write a long paper describing the attached pictures")
        seen["streamed"] = [shown(event) async for event in client.send_message_streaming(paper)]
        # Only a stream distinguishes a message from a task, because the library reads every unary answer as a task.
        seen["reply"] = [shown(event) async for event in client.send_message_streaming(params("direct: hi"))][0]
        seen["got"] = shown(await client.get_task(TaskQueryParams(id=sent["id"])))
        asked = seen["asked"] = await send("buy me a new phone", waiting)
        seen["answered"] = await send("Android", waiting, taskId=asked["id"])
        held = seen["held"] = await send("hold: on", at_once)
        seen["canceled"] = shown(await client.cancel_task(TaskIdParams(id=held["id"])))
        inline = PushNotificationConfig(url=f"{hook}/inline", token="b-token")
        reported = MessageSendConfiguration(
            accepted_output_modes=["text/plain"], blocking=False, push_notification_config=inline
        )
        seen["report"] = await send("Generate the Q1 sales report.", reported)
        seen["unknown"] = await attempt(client.get_task(TaskQueryParams(id="nobody")))
        seen["tooLate"] = await attempt(client.cancel_task(TaskIdParams(id=sent["id"])))
        seen["over"] = await attempt(client.send_message(params("more", taskId=sent["id"])))
    return seen


print(json.dumps(asyncio.run(steps())))
