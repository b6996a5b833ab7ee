"""Calls a server with the published Python library for A2A 0.2, found by the URL of its card alone.

Prints one JSON object: what each step brought, by its name. Judging it is the business of whoever ran this.
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, A2AClient
from a2a.types import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigParams,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    MessageSendConfiguration,
    MessageSendParams,
    PushNotificationConfig,
    SendMessageRequest,
    SendStreamingMessageRequest,
    SetTaskPushNotificationConfigRequest,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
)

url, _transport, hook = sys.argv[1:]


def params(text, configuration=None, **more):
    message = {"role": "user", "messageId": str(uuid.uuid4()), "parts": [{"kind": "text", "text": text}], **more}
    return MessageSendParams(message=message, configuration=configuration)


def texts_of(parts):
    return [getattr(part.root, "text", None) for part in parts]


def shown(response):
    """The result of a response, or the error that it carries."""
    result = response.root
    if hasattr(result, "error"):
        return {"error": type(result.error.root if hasattr(result.error, "root") else result.error).__name__}
    result = result.result
    if result.kind == "task":
        texts = [text for artifact in result.artifacts or [] for text in texts_of(artifact.parts)]
        return {"kind": "task", "id": result.id, "state": result.status.state.value, "texts": texts}
    if result.kind == "artifact-update":
        return {"kind": result.kind, "texts": texts_of(result.artifact.parts)}
    if result.kind == "status-update":
        return {"kind": result.kind, "state": result.status.state.value, "final": result.final}
    return {"kind": result.kind, "texts": texts_of(result.parts)}


def config_shown(response):
    return response.root.result.push_notification_config.model_dump(mode="json", by_alias=True, exclude_none=True)


async def steps():
    seen = {}
    async with httpx.AsyncClient(timeout=30) as http:
        resolver = A2ACardResolver(http, url)
        card = await resolver.get_agent_card()
        seen["card"] = card.model_dump(mode="json", by_alias=True, exclude_none=True)
        client = A2AClient(http, card)
        number = iter(range(1, 1000))

        async def send(*args, **more):
            return shown(await client.send_message(SendMessageRequest(id=next(number), params=params(*args, **more))))

        at_once = MessageSendConfiguration(accepted_output_modes=["text/plain"], blocking=False)
        sent = seen["sent"] = await send("hello")
        seen["reply"] = await send("direct: hi")
        paper = params("write a long paper describing the attached pictures")
        request = SendStreamingMessageRequest(id=next(number), params=paper)
        seen["streamed"] = [shown(event) async for event in client.send_message_streaming(request)]
        seen["got"] = shown(await client.get_task(GetTaskRequest(id=1, params=TaskQueryParams(id=sent["id"]))))
        asked = seen["asked"] = await send("buy me a new phone")
        seen["answered"] = await send("Android", taskId=asked["id"])
        held = seen["held"] = await send("hold: on", at_once)
        wanted = PushNotificationConfig(id="p1", url=f"{hook}/set", token="a-token")
        seen["pushSet"] = config_shown(
            await client.set_task_callback(
                SetTaskPushNotificationConfigRequest(
                    id=2, params=TaskPushNotificationConfig(task_id=held["id"], push_notification_config=wanted)
                )
            )
        )
        seen["pushGot"] = config_shown(
            await client.get_task_callback(
                GetTaskPushNotificationConfigRequest(id=3, params=GetTaskPushNotificationConfigParams(id=held["id"]))
            )
        )
        cancel = CancelTaskRequest(id=4, params=TaskIdParams(id=held["id"]))
        seen["canceled"] = shown(await client.cancel_task(cancel))
        inline = PushNotificationConfig(url=f"{hook}/inline", token="b-token")
        reported = MessageSendConfiguration(
            accepted_output_modes=["text/plain"], blocking=False, push_notification_config=inline
        )
        seen["report"] = await send("Generate the Q1 sales report.", reported)
        seen["unknown"] = shown(await client.get_task(GetTaskRequest(id=5, params=TaskQueryParams(id="nobody"))))
        late = CancelTaskRequest(id=6, params=TaskIdParams(id=sent["id"]))
        seen["tooLate"] = shown(await client.cancel_task(late))
        seen["over"] = await send("more", taskId=sent["id"])
        # This library joins the path to the address that it was given.
        extended = await resolver.get_agent_card(relative_card_path="/agent/authenticatedExtendedCard")
        seen["extended"] = extended.name
    return seen


print(json.dumps(asyncio.run(steps())))
