"""Makes, reads, lists and deletes push notification configurations with the published Python library, and reads notifications.

Prints one JSON object: what each step brought, by its name. Judging it is the business of whoever ran this.
"""

import asyncio
import json
import sys

import grpc.aio
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as a2a
from google.protobuf.json_format import MessageToDict, ParseDict


def say(text, configuration=None):
    """A request that sends a text."""
    message = a2a.Message(message_id="py", role=a2a.ROLE_USER, parts=[a2a.Part(text=text)])
    return a2a.SendMessageRequest(message=message, configuration=configuration)


async def attempt(answer):
    """What a call brings, or its error by the name of the library's class."""
    try:
        brought = await answer
        return None if brought is None else MessageToDict(brought)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}


async def steps(url, binding, hook):
    seen = {}
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
    seen["declared"] = card.capabilities.push_notifications
    config = {"supported_protocol_bindings": [binding], "grpc_channel_factory": grpc.aio.insecure_channel}
    authentication = a2a.AuthenticationInfo(scheme="Bearer", credentials="py-credentials")
    webhook = a2a.TaskPushNotificationConfig(url=hook, token="py-token", authentication=authentication)
    client = ClientFactory(ClientConfig(streaming=False, push_notification_config=webhook, **config)).create(card)
    async with client:
        sent = [event async for event in client.send_message(say("ask Which colour?"))]
        task = sent[0].task.id
        seen["task"] = task
        seen["listed"] = await attempt(
            client.list_task_push_notification_configs(a2a.ListTaskPushNotificationConfigsRequest(task_id=task))
        )
        made = a2a.TaskPushNotificationConfig(task_id=task, id="mine", url=hook + "/mine", token="py-token")
        seen["created"] = await attempt(client.create_task_push_notification_config(made))
        key = {"task_id": task, "id": "mine"}
        seen["got"] = await attempt(
            client.get_task_push_notification_config(a2a.GetTaskPushNotificationConfigRequest(**key))
        )
        page = a2a.ListTaskPushNotificationConfigsRequest(task_id=task, page_size=1)
        seen["page"] = await attempt(client.list_task_push_notification_configs(page))
        delete = a2a.DeleteTaskPushNotificationConfigRequest(**key)
        seen["deleted"] = [await attempt(client.delete_task_push_notification_config(delete)) for _ in range(2)]
        seen["gone"] = await attempt(
            client.get_task_push_notification_config(a2a.GetTaskPushNotificationConfigRequest(**key))
        )
        bad = a2a.TaskPushNotificationConfig(task_id=task, url="https://169.254.169.254/latest")
        seen["bad"] = await attempt(client.create_task_push_notification_config(bad))
    return seen


def read(bodies):
    """What the library reads of notifications, which it has no receiver for."""
    return [MessageToDict(ParseDict(json.loads(body), a2a.StreamResponse())) for body in bodies]


if sys.argv[1] == "read":
    print(json.dumps(read(json.loads(sys.argv[2]))))
else:
    print(json.dumps(asyncio.run(steps(sys.argv[1], sys.argv[2], sys.argv[3]))))
