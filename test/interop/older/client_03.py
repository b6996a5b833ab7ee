"""Calls a server with the published Python library for A2A 0.3, found by the URL of its card alone.

Prints one JSON object: what each step brought, by its name. Judging it is the business of whoever ran this.
"""

import asyncio
import json
import sys
import uuid

import grpc.aio
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    DeleteTaskPushNotificationConfigParams,
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
)

url, transport, hook = sys.argv[1:]


def say(text, **more):
    return Message(message_id=str(uuid.uuid4()), role=Role.user, parts=[Part(root=TextPart(text=text))], **more)


def texts_of(parts):
    return [getattr(part.root, "text", None) for part in parts]


def shown(result):
    if result.kind == "task":
        texts = [text for artifact in result.artifacts or [] for text in texts_of(artifact.parts)]
        return {"kind": "task", "id": result.id, "state": result.status.state.value, "texts": texts}
    return {"kind": result.kind, "texts": texts_of(result.parts)}


def event_shown(event):
    if isinstance(event, Message):
        return {"kind": "message", "texts": texts_of(event.parts)}
    task, update = event
    if update is None:
        return {"kind": "task", "state": task.status.state.value}
    if update.kind == "artifact-update":
        return {"kind": update.kind, "texts": texts_of(update.artifact.parts)}
    return {"kind": update.kind, "state": update.status.state.value, "final": update.final}


async def last(stream):
    """What a send brings in the end: a message, or the task as it is then."""
    result = None
    async for event in stream:
        result = event if isinstance(event, Message) else event[0]
    return result


async def attempt(answer):
    try:
        return await answer
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}


async def steps():
    seen = {}
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        seen["card"] = card.model_dump(mode="json", by_alias=True, exclude_none=True)
        config = {
            "httpx_client": http,
            "supported_transports": [transport],
            "use_client_preference": True,
            "grpc_channel_factory": grpc.aio.insecure_channel,
        }
        plain = ClientFactory(ClientConfig(streaming=False, **config)).create(card)
        at_once = ClientFactory(ClientConfig(streaming=False, polling=True, **config)).create(card)
        streaming = ClientFactory(ClientConfig(**config)).create(card)
        pushing = ClientFactory(
            ClientConfig(
                streaming=False,
                polling=True,
                push_notification_configs=[PushNotificationConfig(url=f"{hook}/inline", token="b-token")],
                **config,
            )
        ).create(card)
        seen["transport"] = type(plain._transport).__name__
        sent = await last(plain.send_message(say("hello")))
        seen["sent"] = shown(sent)
        seen["reply"] = shown(await last(plain.send_message(say("direct: hi"))))
        paper = say("write a long paper describing the attached pictures")
        seen["streamed"] = [event_shown(event) async for event in streaming.send_message(paper)]
        seen["got"] = shown(await plain.get_task(TaskQueryParams(id=sent.id)))
        asked = await last(plain.send_message(say("buy me a new phone")))
        seen["asked"] = shown(asked)
        answer = say("Android", task_id=asked.id, context_id=asked.context_id)
        seen["answered"] = shown(await last(plain.send_message(answer)))
        held = await last(at_once.send_message(say("hold: on")))
        seen["held"] = shown(held)
        wanted = PushNotificationConfig(id="p1", url=f"{hook}/set", token="a-token")
        made = await plain.set_task_callback(
            TaskPushNotificationConfig(task_id=held.id, push_notification_config=wanted)
        )
        seen["pushSet"] = made.push_notification_config.model_dump(mode="json", by_alias=True, exclude_none=True)
        got = await plain.get_task_callback(
            GetTaskPushNotificationConfigParams(id=held.id, push_notification_config_id="p1")
        )
        seen["pushGot"] = got.push_notification_config.model_dump(mode="json", by_alias=True, exclude_none=True)
        seen["watched"] = []
        async for event in streaming.resubscribe(TaskIdParams(id=held.id)):
            if not seen["watched"]:
                seen["canceled"] = shown(await plain.cancel_task(TaskIdParams(id=held.id)))
            seen["watched"].append(event_shown(event))
        seen["report"] = shown(await last(pushing.send_message(say("Generate the Q1 sales report."))))
        seen["unknown"] = await attempt(plain.get_task(TaskQueryParams(id="nobody")))
        seen["tooLate"] = await attempt(plain.cancel_task(TaskIdParams(id=sent.id)))
        seen["over"] = await attempt(last(plain.send_message(say("more", task_id=sent.id))))
        extended = await attempt(plain.get_card())
        seen["extended"] = extended if isinstance(extended, dict) else extended.name
    return seen


print(json.dumps(asyncio.run(steps())))
