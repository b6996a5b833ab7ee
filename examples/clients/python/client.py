"""Calls an agent with the client that is generated from the contract.

    PYTHONPATH=gen python client.py localhost:50051

With TOKEN in the environment it shows that token with each call.
"""

import os
import sys
import uuid

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from lf.a2a.v1 import a2a_pb2 as a2a
from lf.a2a.v1 import a2a_pb2_grpc

# The extension with which a stream goes on exactly where it was cut.
RESUME = "urn:parley:ext:resume:v1"

TOKEN = os.environ.get("TOKEN")
METADATA = (("authorization", f"Bearer {TOKEN}"),) if TOKEN else ()


def say(text, **configuration):
    """A message of the user. An idempotency key in the metadata would make it safe to send again."""
    message = a2a.Message(message_id=str(uuid.uuid4()), role=a2a.ROLE_USER, parts=[a2a.Part(text=text)])
    return a2a.SendMessageRequest(
        message=message, configuration=a2a.SendMessageConfiguration(**configuration)
    )


def name(state):
    return a2a.TaskState.Name(state)


def read(stream):
    """The text of the artifacts that a stream brings, and the state at its end."""
    text, state = "", a2a.TASK_STATE_UNSPECIFIED
    for event in stream:
        text += "".join(part.text for part in event.artifact_update.artifact.parts)
        if event.HasField("status_update"):
            state = event.status_update.status.state
    return text, state


def resumed(stub):
    """Leaves a stream behind its first piece, and goes on where it was."""
    metadata = (*METADATA, ("a2a-extensions", RESUME))
    stream = stub.SendStreamingMessage(say("stream 4 4 100"), metadata=metadata)
    first = next(event.artifact_update for event in stream if event.HasField("artifact_update"))
    stream.cancel()
    after = ("parley-after-generation", str(int(first.metadata[RESUME]["generation"])))
    request = a2a.SubscribeToTaskRequest(id=first.task_id)
    rest, _ = read(stub.SubscribeToTask(request, metadata=(*metadata, after)))
    return first.artifact.parts[0].text + rest


def canceled(stub):
    """Cancels a task that somebody subscribes to."""
    task = stub.SendMessage(say("wait 20000", return_immediately=True), metadata=METADATA).task
    stream = stub.SubscribeToTask(a2a.SubscribeToTaskRequest(id=task.id), metadata=METADATA)
    next(stream)
    stub.CancelTask(a2a.CancelTaskRequest(id=task.id), metadata=METADATA)
    _, state = read(stream)
    return name(state)


def explained(call):
    """The code of the error that a call brings, its reason, and the fields that it names."""
    try:
        call()
    except grpc.RpcError as error:
        words = [error.code().name]
        status = rpc_status.from_call(error)
        for packed in status.details if status else ():
            info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
            if packed.Unpack(info):
                words.append(info.reason)
            elif packed.Unpack(bad):
                words.extend(sorted(violation.field for violation in bad.field_violations))
        return " ".join(words)
    return "no error"


def main(address):
    with grpc.insecure_channel(address) as channel:
        stub = a2a_pb2_grpc.A2AServiceStub(channel)
        task = stub.SendMessage(say("echo hello"), metadata=METADATA).task
        print("send:", name(task.status.state), task.artifacts[0].parts[0].text)
        text, _ = read(stub.SendStreamingMessage(say("stream 3 4"), metadata=METADATA))
        print("stream:", text)
        got = stub.GetTask(a2a.GetTaskRequest(id=task.id), metadata=METADATA)
        print("get:", name(got.status.state))
        tasks = stub.ListTasks(a2a.ListTasksRequest(context_id=task.context_id), metadata=METADATA)
        print("list:", tasks.total_size)
        print("resume:", resumed(stub))
        print("cancel:", canceled(stub))
        unknown = a2a.GetTaskRequest(id="nobody")
        print("error:", explained(lambda: stub.GetTask(unknown, metadata=METADATA)))
        empty = a2a.SendMessageRequest(message=a2a.Message())
        print("invalid:", explained(lambda: stub.SendMessage(empty, metadata=METADATA)))
        slow = say("wait 20000")
        late = explained(lambda: stub.SendMessage(slow, metadata=METADATA, timeout=0.3))
        print("late:", late.split()[0])


main(sys.argv[1])
