"""Calls a server with the published Python library, found by the URL of its card alone.

Prints one JSON object: what each step brought, by its name. Judging it is the business of whoever ran this.
"""

import asyncio
import json
import sys

import grpc.aio
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as a2a
from google.protobuf.json_format import MessageToDict


def say(text, configuration=None, **more):
    """A request that sends a text."""
    message = a2a.Message(**{"message_id": "py", "role": a2a.ROLE_USER, "parts": [a2a.Part(text=text)], **more})
    return a2a.SendMessageRequest(message=message, configuration=configuration)


async def attempt(answer):
    """What a call or a stream brings, up to the error that it ends with, by the name of the library's class."""
    events = []
    try:
        if hasattr(answer, "__aiter__"):
            async for event in answer:
                events.append(event)
            return [MessageToDict(event) for event in events]
        return MessageToDict(await answer)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error), "events": len(events)}


async def watched(client, task_id):
    """Subscribes to a task and cancels it when the subscription stands."""
    states = []
    async for event in client.subscribe(a2a.SubscribeToTaskRequest(id=task_id)):
        if event.HasField("task"):
            await client.cancel_task(a2a.CancelTaskRequest(id=task_id))
        if event.HasField("status_update"):
            states.append(a2a.TaskState.Name(event.status_update.status.state))
    return states


async def steps(url, binding):
    seen = {}
    context = f"python {binding}"
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
    config = {
        "supported_protocol_bindings": [binding],
        "grpc_channel_factory": grpc.aio.insecure_channel,
    }
    plain = ClientFactory(ClientConfig(streaming=False, **config)).create(card)
    client = ClientFactory(ClientConfig(**config)).create(card)
    async with plain, client:
        seen["transport"] = type(client._transport).__name__
        seen["send"] = await attempt(plain.send_message(say("echo hello", context_id=context)))
        done = seen["send"][0]["task"]["id"]
        seen["reply"] = await attempt(plain.send_message(say("say hi")))
        parts = [a2a.Part(raw=bytes([0, 1, 254, 255]), media_type="application/octet-stream"), a2a.Part(url="https://example.org/ü")]
        seen["parts"] = await attempt(plain.send_message(say("", parts=parts)))
        seen["stream"] = await attempt(client.send_message(say("stream 3 4")))
        # The library's read timeout is five seconds.
        seen["silence"] = await attempt(client.send_message(say("wait 7000")))
        seen["streamedReply"] = await attempt(client.send_message(say("say hi")))
        seen["get"] = await attempt(client.get_task(a2a.GetTaskRequest(id=done)))
        seen["list"] = await attempt(client.list_tasks(a2a.ListTasksRequest(context_id=context)))
        seen["ask"] = await attempt(plain.send_message(say("ask Which colour?")))
        asking = seen["ask"][0]["task"]["id"]
        seen["answer"] = await attempt(plain.send_message(say("Blue.", task_id=asking)))
        at_once = a2a.SendMessageConfiguration(return_immediately=True)
        [begun] = [event async for event in plain.send_message(say("wait 20000", at_once))]
        seen["watched"] = await watched(client, begun.task.id)
        seen["unknown"] = await attempt(client.get_task(a2a.GetTaskRequest(id="nobody")))
        seen["tooLate"] = await attempt(client.cancel_task(a2a.CancelTaskRequest(id=done)))
        seen["over"] = await attempt(plain.send_message(say("more", task_id=done)))
        seen["invalid"] = await attempt(plain.send_message(say("x", message_id="")))
        seen["pageTooLarge"] = await attempt(client.list_tasks(a2a.ListTasksRequest(page_size=1000)))
        seen["noStream"] = await attempt(client.subscribe(a2a.SubscribeToTaskRequest(id=done)))
        seen["noTask"] = await attempt(client.subscribe(a2a.SubscribeToTaskRequest(id="nobody")))
        seen["badStream"] = await attempt(client.send_message(say("x", message_id="")))
        seen["noPush"] = await attempt(
            client.create_task_push_notification_config(
                a2a.TaskPushNotificationConfig(task_id=done, url="https://hooks.example/a")
            )
        )
        seen["extended"] = await attempt(client.get_extended_agent_card(a2a.GetExtendedAgentCardRequest()))
    return seen


print(json.dumps(asyncio.run(steps(sys.argv[1], sys.argv[2]))))
