import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it, vi } from "vitest";
import { fixture } from "../cli/cli.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { scaled } from "../support/soak.js";
import { OtherAgent, PIECES, SAID, WHOLE } from "./support/other-agent.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { logOf, resuming, type Story, say, stateOf, statusText, taskOf } from "./support/story.js";

vi.setConfig({ testTimeout: 240_000 });

/** Tasks that are under way at once. */
const TASKS = 4;

let home: Home;
let other: OtherAgent;
afterEach(async () => {
  delete process.env.TEST_OTHER_AGENT;
  await home.leave();
  await other.close();
});

/** A client that finds its task by its idempotency key and answers its questions. */
class Client {
  task: JsonObject | undefined;
  readonly #name: string;
  #answers = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Takes one step. Returns true when the task has ended. Throws if the server dies. */
  async step(driver: Driver): Promise<boolean> {
    if (this.task === undefined) {
      const request = { ...say("go", { contextId: this.#name }), configuration: { returnImmediately: true } };
      const { message } = await driver.call("SendMessage", request, resuming({ "Idempotency-Key": this.#name }));
      this.task = message?.task as JsonObject | undefined;
    }
    const id = String(this.task?.id);
    this.task = await taskOf(driver, id);
    if (stateOf(this.task) === "TASK_STATE_INPUT_REQUIRED") {
      const text = `answer ${this.#answers}`;
      const request = { ...say(text, { taskId: id }), configuration: { returnImmediately: true } };
      await driver.call("SendMessage", request, resuming({ "Idempotency-Key": `${this.#name} ${text}` }));
      this.#answers++;
      // The task still asks until the answer gets its turn.
      await sleep(100);
    }
    return !/WORKING|SUBMITTED|REQUIRED/.test(stateOf(this.task));
  }

  get id(): string {
    return String(this.task?.id);
  }
}

/** Kills servers at random moments until all tasks have ended. Returns the number of kills during work. */
async function untilOver(clients: readonly Client[], lives: number): Promise<number> {
  let kills = 0;
  for (let life = 0; ; life++) {
    const server = await home.start();
    const driver = (bindings.find(({ name }) => name === "jsonrpc") ?? bindings[0])?.connect(server) as Driver;
    const work = workOf(clients, driver);
    const isLast = life >= lives;
    const isOver = await Promise.race([work, ...(isLast ? [] : [sleep(Math.random() * 350).then(() => false)])]);
    if (!isOver) kills++;
    if (isOver) {
      driver.close();
      await server.kill();
      return kills;
    }
    await server.kill();
    driver.close();
    await work;
  }
}

async function workOf(clients: readonly Client[], driver: Driver): Promise<boolean> {
  const each = clients.map(async (client) => {
    for (;;) {
      if (await client.step(driver)) return true;
      await sleep(20);
    }
  });
  return (await Promise.allSettled(each)).every(({ status }) => status === "fulfilled");
}

function textsOf({ events }: Story): string[] {
  return [...events.values()].flatMap(({ statusUpdate }) => statusText((statusUpdate ?? {}) as JsonObject) || []);
}

function piecesOf({ events }: Story): string[] {
  return [...events.values()].flatMap(({ artifactUpdate }) => {
    const { artifact } = (artifactUpdate ?? {}) as { artifact?: { artifactId: string; parts: { text: string }[] } };
    return artifact === undefined ? [] : [`${artifact.artifactId} ${artifact.parts.map(({ text }) => text).join("")}`];
  });
}

function artifactsOf(task: JsonObject): [string, string][] {
  const { artifacts } = task as { artifacts: { artifactId: string; parts: { text: string }[] }[] };
  return artifacts.map(({ artifactId, parts }) => [artifactId, parts.map(({ text }) => text).join("")]);
}

describe.each([
  ["with exact resume", true],
  ["without", false],
])("a process that is killed again and again in the middle of delegations to a server %s", (_name, isExact) => {
  it("goes on where it was: the same artifacts, nothing twice, no work begun anew", async () => {
    other = await OtherAgent.start(isExact);
    process.env.TEST_OTHER_AGENT = other.url;
    home = new Home();
    home.agent = fixture("delegating");
    const clients = Array.from({ length: TASKS }, (_, at) => new Client(`client ${at}`));
    const kills = await untilOver(clients, scaled(12, 25));
    const server: ServerProcess = await home.start();
    const driver = bindings[0]?.connect(server) as Driver;
    for (const { id } of clients) {
      const task = await taskOf(driver, id);
      expect([stateOf(task), statusText(task)]).toEqual([
        "TASK_STATE_COMPLETED",
        `${WHOLE.length} ${WHOLE.length} ${WHOLE.length}`,
      ]);
      expect(artifactsOf(task)).toEqual([
        ["1.first/numbers", WHOLE],
        [expect.stringMatching(/^\d+\.second\/numbers$/), WHOLE],
      ]);
      const story = await logOf(driver, id);
      expect(textsOf(story).slice(0, -1)).toEqual([...SAID, ...SAID, ...SAID]);
      // The third sub-task is hidden.
      if (isExact) expect(piecesOf(story)).toHaveLength(4 * PIECES);
      const contexts = ["first", "second", "hidden"].map((name) => other.contexts.get(`${name} ${id}`));
      expect(new Set(contexts)).toEqual(new Set([expect.any(String)]));
    }
    // Each task has three sub-tasks, and each of those one answer.
    const begun = other.heard.filter((text) => !text.startsWith("answer"));
    expect(begun).toHaveLength(3 * TASKS);
    expect(new Set(begun).size).toBe(3 * TASKS);
    // A fast machine needs few servers.
    expect(kills).toBeGreaterThan(2);
    driver.close();
  });
});
