import { randomUUID } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/agent/agent.js";
import { artifact, metadata, working } from "../../../src/agent/event.js";
import type { Pattern, Request } from "../cases/case.js";
import { exchange } from "../cases/exchange.js";
import { caseCard, openWorld } from "../cases/world.js";
import { seen, seenEvents } from "./seen.js";
import { furtherSpeakers, type Speaker, speakers } from "./speakers.js";

/** Produces text if the caller accepts it, and writes its length into the task's metadata. */
const agent: Agent = {
  card: { ...caseCard, defaultOutputModes: ["text/plain"] },
  checkOutputModes: true,
  async *execute(turn) {
    yield metadata({ letters: turn.text.length, done: false });
    yield working("Half.");
    yield artifact({ text: turn.text });
    yield metadata({ done: true });
  },
};

let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => {
  world = await openWorld({ preview: "1.1", agent });
});
afterAll(() => world.close());

/** A request to send with the media types that its client accepts, which 0.1 has beside the message. */
function accepting(request: Request, { version, binding }: Speaker, acceptedOutputModes: readonly string[]): Request {
  // Without a configuration, every version waits for the end.
  const isOld = version === "0.3" || version === "0.2";
  const body = request.body as Record<string, Record<string, Pattern>>;
  const added = (params: Record<string, Pattern>): Record<string, Pattern> => {
    const waiting = isOld ? { blocking: true } : {};
    const configuration = {
      ...(params.configuration as object),
      ...waiting,
      acceptedOutputModes: [...acceptedOutputModes],
    };
    return version === "0.1"
      ? { ...params, acceptedOutputModes: [...acceptedOutputModes] }
      : { ...params, configuration };
  };
  return {
    ...request,
    body: binding === "JSONRPC" ? { ...body, params: added(body.params ?? {}) } : added(body as never),
  } as Request;
}

/** Code with which a version refuses a content type over a binding. */
function refusal({ version, binding }: Speaker): JsonValue {
  if (binding === "JSONRPC" || (binding === "HTTP+JSON" && version === "0.3")) return -32005;
  return binding === "HTTP+JSON" ? 400 : expect.stringMatching(/^invalid_argument$/i);
}

describe.each([...speakers, ...furtherSpeakers])("$name", (speaker) => {
  it.each([["text"], ["text/*"], ["*/*"], ["image/png", "text/plain"]])(
    "is answered where it accepts %s",
    async (...modes) => {
      const said = { text: "hello" };
      const answer = seen(await exchange(accepting(speaker.send(said), speaker, modes), world));
      expect(answer).toMatchObject({ kind: "task", state: "completed", texts: ["hello"] });
    },
  );

  it("is refused where it accepts nothing that the agent produces", async () => {
    const said = { text: "hello", contextId: randomUUID() };
    const [answer] = [seen(await exchange(accepting(speaker.send(said), speaker, ["image/png"]), world))];
    expect(answer).toMatchObject({ kind: "error", error: refusal(speaker) });
    const [event] = seenEvents(await exchange(accepting(speaker.stream(said), speaker, ["image/png"]), world));
    expect(event).toMatchObject({ kind: "error", error: refusal(speaker) });
  });

  it("sees the metadata of a task", async () => {
    const { body } = await exchange(speaker.send({ text: "hello" }), world);
    expect(JSON.stringify(body)).toMatch(/"metadata":\{[^}]*"letters":5[^}]*\}/);
    expect(JSON.stringify(body)).toMatch(/"metadata":\{[^}]*"done":true[^}]*\}/);
    const { events } = await exchange(speaker.stream({ text: "hello" }), world);
    const metadataOf = (event: JsonValue): string[] => JSON.stringify(event).match(/"metadata":\{[^}]*\}/g) ?? [];
    const all = (events ?? []).flatMap(metadataOf).join();
    expect(all).toContain('"done":false');
    expect(all).toContain('"done":true');
  });
});
