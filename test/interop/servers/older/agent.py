"""What the agents of the published Python libraries before 1.0 do: the first word of a message says what is to happen."""

import asyncio

from a2a.server.agent_execution import AgentExecutor
from a2a.server.tasks import TaskUpdater
from a2a.types import Part, TextPart
from a2a.utils import new_agent_text_message, new_task


def text(value):
    return [Part(root=TextPart(text=value))]


class Agent(AgentExecutor):
    async def execute(self, context, event_queue):
        words = context.get_user_input().split()
        if words[0] == "say" and context.current_task is None:
            await event_queue.enqueue_event(new_agent_text_message(" ".join(words[1:]), context.context_id))
            return
        goes_on = context.current_task is not None
        if not goes_on:
            await event_queue.enqueue_event(new_task(context.message))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        if goes_on:
            await task.add_artifact(text(" ".join(words)), name="answer")
            await task.complete()
        elif words[0] == "ask":
            await task.requires_input(task.new_agent_message(text("What do you mean?")), final=True)
        elif words[0] == "stream":
            await task.start_work()
            for i in range(int(words[1])):
                await asyncio.sleep(int(words[2]) / 1000)
                last = i + 1 == int(words[1])
                piece = text(f"{i + 1} ")
                await task.add_artifact(piece, artifact_id="pieces", name="pieces", append=i > 0, last_chunk=last)
            await task.complete()
        elif words[0] == "wait":
            await task.start_work()
            await asyncio.sleep(int(words[1]) / 1000)
            await task.complete()
        elif words[0] == "fail":
            await task.failed(task.new_agent_message(text("It did not work.")))
        else:
            await task.start_work()
            await task.add_artifact(text(" ".join(words[1:])), name="echo")
            await task.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()
