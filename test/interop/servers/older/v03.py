"""An agent that is served with the published Python library for A2A 0.3: JSON-RPC, HTTP+JSON, gRPC.

Prints the URL of its HTTP server when it is ready.
"""

import asyncio
import socket

import grpc
import uvicorn
from a2a.grpc import a2a_pb2_grpc
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from agent import Agent
from starlette.applications import Starlette
from starlette.routing import Mount


async def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # Listens before the URL is printed, because a caller connects before uvicorn listens.
    listener.listen()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    rpc = grpc.aio.server()
    port = rpc.add_insecure_port("127.0.0.1:0")
    card = AgentCard(
        name="Foreign",
        description="Does what the first word says.",
        version="1.0.0",
        url=f"{url}/",
        preferred_transport="JSONRPC",
        additional_interfaces=[
            AgentInterface(transport="HTTP+JSON", url=f"{url}/rest"),
            AgentInterface(transport="GRPC", url=f"127.0.0.1:{port}"),
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="do", name="Do", description="Does it.", tags=["test"])],
        supports_authenticated_extended_card=True,
    )
    extended = card.model_copy(update={"name": "Foreign, and more"})
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore())
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(card, handler), rpc)
    await rpc.start()
    rest = A2ARESTFastAPIApplication(agent_card=card, http_handler=handler, extended_agent_card=extended).build()
    app = Starlette(routes=[Mount("/rest", app=rest)])
    A2AStarletteApplication(agent_card=card, http_handler=handler, extended_agent_card=extended).add_routes_to_app(app)
    # The routes at the root come after the mounted ones.
    http = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    print(url, flush=True)
    await http.serve(sockets=[listener])


asyncio.run(main())
