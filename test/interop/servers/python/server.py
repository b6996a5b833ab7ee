"""An agent that is served with the published Python library, over all that it has: JSON-RPC, HTTP+JSON, gRPC.

Prints the URL of its HTTP server when it is ready. The first word of a message says what is to happen. With an argument that is the key
that callers need, it sends push notifications and has a card for those callers.
"""

import asyncio
import socket
import sys

import grpc
import httpx
import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandlerV2, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    APIKeySecurityScheme,
    Part,
    Role,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from starlette.applications import Starlette
from starlette.responses import JSONResponse

key = sys.argv[1] if len(sys.argv) > 1 else None


class Agent(AgentExecutor):
    async def execute(self, context, event_queue):
        words = context.get_user_input().split()
        if words[0] == "say" and context.current_task is None:
            reply = new_text_message(" ".join(words[1:]), context_id=context.context_id, role=Role.ROLE_AGENT)
            await event_queue.enqueue_event(reply)
            return
        goes_on = context.current_task is not None
        if not goes_on:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        if goes_on:
            await task.add_artifact([Part(text=" ".join(words))], name="answer")
            await task.complete()
        elif words[0] == "ask":
            question = task.new_agent_message([Part(text="What do you mean?")])
            await task.requires_input(question)
        elif words[0] == "stream":
            await task.start_work()
            for i in range(int(words[1])):
                await asyncio.sleep(int(words[2]) / 1000)
                last = i + 1 == int(words[1])
                part = Part(text=f"{i + 1} ")
                await task.add_artifact([part], artifact_id="pieces", name="pieces", append=i > 0, last_chunk=last)
            await task.complete()
        elif words[0] == "wait":
            await task.start_work()
            await asyncio.sleep(int(words[1]) / 1000)
            await task.complete()
        elif words[0] == "fail":
            await task.failed(task.new_agent_message([Part(text="It did not work.")]))
        else:
            await task.start_work()
            await task.add_artifact([Part(text=" ".join(words[1:]))], name="echo")
            await task.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Guard(grpc.aio.ServerInterceptor):
    async def intercept_service(self, continuation, details):
        handler = await continuation(details)
        if key is None or dict(details.invocation_metadata).get("x-api-key") == key:
            return handler

        async def refuse(_, context):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "There is no key.")

        async def refuse_stream(_, context):
            await refuse(_, context)
            yield

        make, act = (
            (grpc.unary_stream_rpc_method_handler, refuse_stream)
            if handler.response_streaming
            else (grpc.unary_unary_rpc_method_handler, refuse)
        )
        return make(act, handler.request_deserializer, handler.response_serializer)


def guarded(app):
    async def call(scope, receive, send):
        if scope["type"] == "http" and key is not None and not scope["path"].startswith("/.well-known/"):
            if dict(scope["headers"]).get(b"x-api-key") != key.encode():
                error = {"code": 401, "status": "UNAUTHENTICATED", "message": "There is no key."}
                return await JSONResponse({"error": error}, 401)(scope, receive, send)
        await app(scope, receive, send)

    return call


async def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # Listens before the URL is printed, because a caller connects before uvicorn listens.
    listener.listen()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    rpc = grpc.aio.server(interceptors=[Guard()])
    port = rpc.add_insecure_port("127.0.0.1:0")
    interfaces = [
        AgentInterface(protocol_binding="JSONRPC", protocol_version="1.0", url=f"{url}/rpc"),
        AgentInterface(protocol_binding="HTTP+JSON", protocol_version="1.0", url=url),
        AgentInterface(protocol_binding="GRPC", protocol_version="1.0", url=f"127.0.0.1:{port}"),
    ]
    card = AgentCard(
        name="Foreign",
        description="Does what the first word says.",
        version="1.0.0",
        capabilities=AgentCapabilities(
            streaming=True, push_notifications=key is not None, extended_agent_card=key is not None
        ),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="do", name="Do", description="Does it.", tags=["test"])],
        supported_interfaces=interfaces,
    )
    more = {}
    if key is not None:
        card.security_schemes["key"].CopyFrom(
            SecurityScheme(api_key_security_scheme=APIKeySecurityScheme(location="header", name="X-Api-Key"))
        )
        card.security_requirements.append(SecurityRequirement(schemes={"key": StringList()}))
        configs = InMemoryPushNotificationConfigStore()
        sender = BasePushNotificationSender(httpx.AsyncClient(), configs)
        extended = AgentCard()
        extended.CopyFrom(card)
        extended.name = "Foreign, and more"
        more = {"push_config_store": configs, "push_sender": sender, "extended_agent_card": extended}
    handler = DefaultRequestHandlerV2(agent_executor=Agent(), task_store=InMemoryTaskStore(), agent_card=card, **more)
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
    await rpc.start()
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/rpc"),
        *create_rest_routes(handler),
    ]
    http = uvicorn.Server(uvicorn.Config(guarded(Starlette(routes=routes)), log_level="warning", lifespan="off"))
    print(url, flush=True)
    await http.serve(sockets=[listener])


asyncio.run(main())
