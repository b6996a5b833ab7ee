import { afterEach, expect, it } from "vitest";
import { Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import { testAgent } from "../../src/testing/index.js";
import { serveCards } from "../client/card-server.js";
import { agentOf, Servers } from "./servers.js";

const servers = new Servers();
afterEach(() => servers.close());

/** Serves a card that offers only the given version. Our own server writes it for clients of that version. */
async function onlyIn(version: string, url: string): Promise<string> {
  const path = version === "0.3" ? "/.well-known/agent-card.json" : "/.well-known/agent.json";
  const shown = (await (await fetch(url + path, { headers: { "a2a-version": version } })).json()) as object;
  // Without authentication, a card of 0.1 looks like one of 0.2. The added scheme tells them apart.
  const card = JSON.stringify(version === "0.1" ? { ...shown, authentication: { schemes: [] } } : shown);
  const found = await serveCards((request, response) => {
    if (request.url !== path) response.statusCode = 404;
    response.setHeader("content-type", "application/json").end(request.url === path ? card : "");
  });
  return found.url;
}

const other = agentOf("Other", async function* (turn) {
  if (turn.text === "ask") return yield inputRequired("What?");
  yield artifact({ id: "a", name: "out", text: `${turn.text}!` });
  yield completed("done");
});

const message = (text: string, more: object = {}) => ({
  message: { messageId: text, role: Role.USER, parts: [{ content: { case: "text" as const, value: text } }], ...more },
});

it.each(["0.3", "0.2", "0.1"])(
  "an agent calls one that speaks A2A %s alone, and hands work on to it",
  async (version) => {
    const versions = new Set<string>();
    const server = await servers.serve(other, {
      interceptors: [
        (next) => async (invocation) => {
          const answer = await next(invocation);
          versions.add(invocation.call.version);
          return answer;
        },
      ],
    });
    const got: unknown[] = [];
    const front = agentOf("Front", async function* (turn) {
      const client = await turn.call("older");
      const { payload: asked } = await client.sendMessage(message("ask"));
      if (asked.case !== "task") throw new Error("The answer is no task.");
      const { id, contextId, status } = asked.value;
      await client.sendMessage(message("this", { taskId: id, contextId }));
      const task = await client.getTask({ id });
      got.push(
        status?.state,
        task.status?.state,
        task.artifacts.map(({ parts }) => parts[0]?.content.value),
      );
      const sub = yield* turn.delegate("older", turn.text);
      got.push(sub.state);
      yield completed("all done");
    });
    const url = await onlyIn(version, server.url);
    await using test = testAgent(front, { remoteAgents: { older: { url } } });
    const task = await test.send("go");
    expect(got).toEqual([TaskState.INPUT_REQUIRED, TaskState.COMPLETED, ["this!"], TaskState.COMPLETED]);
    expect(JSON.stringify(task.artifacts)).toContain("go!");
    // Calls do not name 0.2, nor 0.1 for a method that 0.3 also has, so the server handles them as 0.3.
    expect(versions).toEqual(new Set(version === "0.1" ? ["0.1", "0.3"] : ["0.3"]));
  },
);
