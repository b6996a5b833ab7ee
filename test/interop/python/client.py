"""Calls a server with the code that grpcio-tools generates from the proto.

Prints one JSON object: what each step brought, by its name. Judging it is the business of whoever ran this.
"""

import json
import sys
import threading

import grpc
from google.protobuf.json_format import MessageToDict
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from lf.a2a.v1 import a2a_pb2 as a2a
from lf.a2a.v1 import a2a_pb2_grpc

DETAILS = {
    each.DESCRIPTOR.full_name: each
    for each in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo)
}


def user(text, **more):
    """A request that sends a text."""
    message = a2a.Message(message_id="py", role=a2a.ROLE_USER, parts=[a2a.Part(text=text)], **more)
    return a2a.SendMessageRequest(message=message)


def shown(message):
    return MessageToDict(message)


def failure(error):
    """An error with its details, as grpcio-status reads them from the trailers."""
    status = rpc_status.from_call(error)
    details = []
    for packed in status.details if status else []:
        detail = DETAILS[packed.TypeName()]()
        packed.Unpack(detail)
        details.append({"type": packed.TypeName(), **shown(detail)})
    return {"code": error.code().name, "message": error.details(), "details": details}


def attempt(call):
    """What a call brings: a message, a list of messages, or an error."""
    try:
        answer = call()
        if isinstance(answer, list):
            return [shown(message) for message in answer]
        return shown(answer)
    except grpc.RpcError as error:
        return {"error": failure(error)}


def cancel_while_watched(stub):
    """Cancels a task that somebody subscribes to; the subscriber learns of it."""
    begun = a2a.SendMessageRequest()
    begun.CopyFrom(user("wait 20000"))
    begun.configuration.return_immediately = True
    task_id = stub.SendMessage(begun).task.id
    stream = stub.SubscribeToTask(a2a.SubscribeToTaskRequest(id=task_id))
    watched = [next(stream)]
    reader = threading.Thread(target=lambda: watched.extend(stream))
    reader.start()
    canceled = stub.CancelTask(a2a.CancelTaskRequest(id=task_id))
    reader.join()
    return shown(canceled), [shown(message) for message in watched]


def hang_up(stub):
    """Leaves a stream in its middle."""
    stream = stub.SendStreamingMessage(user("stream 1000 16 5"))
    first = next(stream)
    stream.cancel()
    return shown(stub.GetTask(a2a.GetTaskRequest(id=first.task.id)))


def main(address):
    seen = {}
    with grpc.insecure_channel(address) as channel:
        stub = a2a_pb2_grpc.A2AServiceStub(channel)
        seen["send"] = attempt(lambda: stub.SendMessage(user("echo hello", context_id="python")))
        task_id = seen["send"]["task"]["id"]
        seen["reply"] = attempt(lambda: stub.SendMessage(user("say hi")))
        seen["stream"] = attempt(lambda: list(stub.SendStreamingMessage(user("stream 3 4"))))
        seen["get"] = attempt(lambda: stub.GetTask(a2a.GetTaskRequest(id=task_id)))
        seen["list"] = attempt(lambda: stub.ListTasks(a2a.ListTasksRequest(context_id="python", page_size=5)))
        seen["canceled"], seen["watched"] = cancel_while_watched(stub)
        seen["left"] = hang_up(stub)
        config = a2a.TaskPushNotificationConfig(task_id=task_id, url="https://example.org/hook")
        push = a2a.GetTaskPushNotificationConfigRequest(task_id=task_id, id="one")
        gone = a2a.DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="one")
        configs = a2a.ListTaskPushNotificationConfigsRequest(task_id=task_id)
        seen["createPush"] = attempt(lambda: stub.CreateTaskPushNotificationConfig(config))
        seen["getPush"] = attempt(lambda: stub.GetTaskPushNotificationConfig(push))
        seen["listPush"] = attempt(lambda: stub.ListTaskPushNotificationConfigs(configs))
        seen["deletePush"] = attempt(lambda: stub.DeleteTaskPushNotificationConfig(gone))
        seen["extendedCard"] = attempt(lambda: stub.GetExtendedAgentCard(a2a.GetExtendedAgentCardRequest()))
        seen["unknown"] = attempt(lambda: stub.GetTask(a2a.GetTaskRequest(id="nobody")))
        seen["invalid"] = attempt(lambda: stub.SendMessage(a2a.SendMessageRequest(message=a2a.Message())))
        seen["late"] = attempt(lambda: stub.SendMessage(user("wait 20000"), timeout=0.3))
        version = (("a2a-version", "7.1"),)
        seen["version"] = attempt(lambda: stub.ListTasks(a2a.ListTasksRequest(), metadata=version))
    json.dump(seen, sys.stdout)


main(sys.argv[1])
