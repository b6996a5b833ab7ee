"""An agent that is served with the published Python library for A2A 0.2: JSON-RPC.

Prints the URL of its HTTP server when it is ready.
"""

import asyncio
import socket

import uvicorn
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentSkill
from agent import Agent


async def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # Listens before the URL is printed, because a caller connects before uvicorn listens.
    listener.listen()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    card = AgentCard(
        name="Foreign",
        description="Does what the first word says.",
        version="1.0.0",
        url=f"{url}/",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="do", name="Do", description="Does it.", tags=["test"])],
        supports_authenticated_extended_card=True,
    )
    extended = card.model_copy(update={"name": "Foreign, and more"})
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore())
    app = A2AStarletteApplication(agent_card=card, http_handler=handler, extended_agent_card=extended)
    http = uvicorn.Server(uvicorn.Config(app.build(), log_level="error"))
    print(url, flush=True)
    await http.serve(sockets=[listener])


asyncio.run(main())
