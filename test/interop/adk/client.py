"""Lets an agent of Google's ADK stand for the served one, found by the URL of its card.

Prints one JSON object: what each step brought, by its name. Judging it is the business of whoever ran this.
"""

import asyncio
import json
import logging
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from a2a.client import ClientConfig, ClientFactory  # noqa: E402
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.genai import types  # noqa: E402


async def say(agent, *texts):
    """What the agent says to each of the texts, in one session; and what went wrong."""
    runner = InMemoryRunner(agent=agent, app_name="interop")
    session = await runner.session_service.create_session(app_name="interop", user_id="u")
    answers = []
    for text in texts:
        said = {"texts": [], "error": None}
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            if event.error_message:
                said["error"] = event.error_message
            for part in (event.content.parts if event.content else None) or []:
                if part.text:
                    said["texts"].append(part.text)
        answers.append(said)
    return answers


def remote(url, binding=None):
    card = f"{url}/.well-known/agent-card.json"
    if binding is None:
        return RemoteA2aAgent(name="remote", agent_card=card)
    factory = ClientFactory(ClientConfig(supported_protocol_bindings=[binding]))
    return RemoteA2aAgent(name="remote", agent_card=card, a2a_client_factory=factory)


async def steps(url):
    return {
        "default": await say(remote(url), "echo hello", "say hi", "stream 3 4", "fail No luck."),
        "rest": await say(remote(url, "HTTP+JSON"), "echo hello", "say hi"),
    }


print(json.dumps(asyncio.run(steps(sys.argv[1]))))
