import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cover } from "../../support/cover.js";
import { pairs } from "../../support/covering.js";
import { exchange } from "../cases/exchange.js";
import { openWorld } from "../cases/world.js";
import { say } from "./begin.js";
import { deeds } from "./deeds.js";
import { furtherSpeakers, type Speaker, speakers, withHeaders } from "./speakers.js";

let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => {
  world = await openWorld({ preview: "1.1" });
});
afterAll(() => world.close());

const [native] = speakers as [Speaker];
const everySpeaker = [...speakers, ...furtherSpeakers];
// The further ways are tried with each version, and not with each other.
const couples = everySpeaker.flatMap((creator) =>
  (furtherSpeakers.includes(creator) ? [native] : everySpeaker).map((other) => ({ creator, other })),
);
const done = cover(
  Object.keys(deeds).flatMap((deed) => couples.map((couple) => ({ deed, ...couple }))),
  ({ deed, creator, other }) => pairs(deed, creator.name, other.name),
);

describe.each(Object.keys(deeds))("a client %s a task that another version began", (deed) => {
  for (const { creator, other } of done.filter((each) => each.deed === deed)) {
    it(`${other.name}, begun by ${creator.name}`, async () => deeds[deed]?.(world, creator, other));
  }
});

describe("methods that several versions have", () => {
  const [asked] = speakers.filter(({ name }) => name === "0.3 over JSON-RPC");
  for (const creator of speakers) {
    for (const header of [undefined, "0.3", "0.2", "0.1"]) {
      const isOld = header === "0.1" || (header === undefined && creator.version === "0.1");
      const shape = isOld ? "0.1" : "0.3";
      const title = `answer a task of ${creator.name} in the shape of ${shape} where A2A-Version is ${header}`;
      it(title, async () => {
        const taskId = await say(world, creator, { text: "hello" });
        const request = asked?.get(taskId) as ReturnType<Speaker["get"]>;
        const named = header === undefined ? request : withHeaders(request, { "A2A-Version": header });
        const { body } = await exchange(named, world);
        expect(body).toMatchObject({
          result: isOld ? { id: taskId, sessionId: expect.any(String) } : { kind: "task" },
        });
        expect(Object.hasOwn((body as { result: object }).result, "kind")).toBe(!isOld);
      });
    }
  }
});

it("a list of 1.0 has the tasks of every version", async () => {
  const contextId = randomUUID();
  const ids: string[] = [];
  for (const speaker of speakers) ids.push(await say(world, speaker, { text: "hello", contextId }));
  const [first] = speakers;
  const request = first?.get("") as ReturnType<Speaker["get"]>;
  const body = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: { contextId } };
  const listed = await exchange({ ...request, body }, world);
  const { result } = listed.body as { result: { tasks: { id: string }[] } };
  expect(result.tasks.map(({ id }) => id).sort()).toEqual(ids.sort());
});
