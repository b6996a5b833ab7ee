import { toJsonString } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { roleOf } from "../../src/admin/service.js";
import { Receiver } from "../push/receiver.js";
import { cover } from "../support/cover.js";
import { pairs } from "../support/covering.js";
import { bindings, type Caller, PATIENCE_MS } from "./callers.js";
import { bearer, openWorld, tokens, type World } from "./world.js";

/** Access to every method of the descriptor, for each kind of credential and over every binding. */

const credentials = {
  none: {},
  wrong: bearer(tokens.wrong),
  "a caller's key as a token": bearer(tokens.caller),
  "a caller's key": { "x-key": tokens.caller },
  read: bearer(tokens.read),
  write: bearer(tokens.write),
} as const;

type Credential = keyof typeof credentials;

/** Credentials that no method admits. */
const invalid: readonly Credential[] = ["none", "wrong", "a caller's key as a token", "a caller's key"];

/** Fields of an admitted call. They name a task and a configuration that do not exist, so it changes nothing. */
const nothing = { taskId: "does-not-exist", configId: "nor-this" };

/** Further fields of a refused call, besides a task and its owner. The call would change them if it were admitted. */
const something = { configId: "hook", level: "debug", name: "backup.db", generation: 1, message: "Ended." };

let world: World;
let receiver: Receiver;
/** An open task of each owner, which waits for its client. */
const tasks: { owner: string; taskId: string }[] = [];
const callers = new Map<string, Caller>();

beforeAll(async () => {
  receiver = await Receiver.start();
  world = await openWorld(
    {},
    {
      logger: { level: "info", debug() {}, info() {}, warn() {}, error() {} },
      push: { allowHttp: true, allow: ["127.0.0.1"], ports: [receiver.port] },
    },
  );
  for (const [owner, key] of [
    ["alice", tokens.caller],
    ["bob", tokens.other],
  ] as const) {
    tasks.push({ owner, taskId: await ask(key, owner) });
  }
  await vi.waitFor(async () => expect(await deliveryStates()).toEqual(["DELIVERY_STATE_IDLE", "DELIVERY_STATE_IDLE"]), {
    timeout: 10_000,
  });
  for (const [name, open] of Object.entries(bindings)) callers.set(name, open(world.address));
});
afterAll(async () => {
  for (const caller of callers.values()) caller.close();
  await world.server.close();
  await receiver.stop();
});

/** Creates a task with a webhook that waits for its client. */
async function ask(key: string, path: string): Promise<string> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "ask which" }] };
  const configuration = { taskPushNotificationConfig: { id: "hook", url: receiver.url(`/${path}`) } };
  const headers = { "content-type": "application/json", "a2a-version": "1.0", "x-key": key };
  const body = JSON.stringify({ message, configuration });
  const answer = await fetch(`${world.server.url}/message:send`, { method: "POST", headers, body });
  const { task } = (await answer.json()) as { task: { id: string } };
  return task.id;
}

const get = async (path: string): Promise<Record<string, unknown>> =>
  (await fetch(`http://${world.address}/v1/${path}`, { headers: bearer(tokens.read) })).json() as never;

async function deliveryStates(): Promise<string[]> {
  const { deliveries } = (await get("deliveries")) as { deliveries: { state: string }[] };
  return deliveries.map(({ state }) => state);
}

/** Everything that a method could change. */
async function state(): Promise<object> {
  const { readiness, logLevel } = await get("server");
  const lists = await Promise.all(["tasks", "owners", "deliveries"].map(get));
  return { readiness, logLevel, lists, notifications: receiver.hits.length };
}

/** The fields of a request that its method has. */
function fieldsOf(method: (typeof AdminService.methods)[number], all: object): Record<string, unknown> {
  const has = (name: string): boolean => method.input.fields.some(({ localName }) => localName === name);
  return Object.fromEntries(Object.entries(all).filter(([name]) => has(name)));
}

/** Every method over every binding. `npm test` tries each method over one binding, and each kind and role over each. */
const calls = cover(
  Object.keys(bindings).flatMap((binding) => AdminService.methods.map((method) => ({ binding, method }))),
  ({ binding, method }) => [method.name, ...pairs(binding, method.methodKind, roleOf(method))],
);

describe.each(Object.keys(bindings))("AdminService over %s", (binding) => {
  it.each(calls.filter((call) => call.binding === binding).map(({ method }) => [method.name, method] as const))(
    "%s answers to its role alone, and a refused call changes nothing",
    async (_, method) => {
      const call = async (name: Credential, all: object, streamMs?: number): Promise<string> => {
        const outcome = await callers.get(binding)!.call(method, fieldsOf(method, all), credentials[name], streamMs);
        expect(outcome.text).not.toMatch(/-471[1-5]-/);
        const isRefused = ["UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED"].includes(outcome.code);
        return isRefused ? outcome.code : "admitted";
      };
      const isReading = roleOf(method) === "read";
      const refused: readonly Credential[] = isReading ? invalid : [...invalid, "read"];
      const admitted: readonly Credential[] = isReading ? ["read", "write"] : ["write"];
      const before = await state();
      for (const name of refused) {
        for (const task of tasks) {
          // A refusal may be slow.
          const code = await call(name, { ...something, ...task }, PATIENCE_MS);
          expect([name, code]).toEqual([name, name === "read" ? "PERMISSION_DENIED" : "UNAUTHENTICATED"]);
        }
      }
      expect(await state()).toEqual(before);
      for (const name of admitted) expect([name, await call(name, nothing)]).toEqual([name, "admitted"]);
    },
  );

  it("reads the tasks of all owners with the role read", async () => {
    const { getTask, listTasks, listEntries } = AdminService.method;
    const read = async (method: (typeof AdminService.methods)[number], fields: object): Promise<string> => {
      const all = fieldsOf(method, fields);
      const { code, text, messages } = await callers.get(binding)!.call(method, all, bearer(tokens.read));
      expect(code).toBe("OK");
      return [text, ...messages.map((message) => toJsonString(method.output, message))].join("");
    };
    const all = await read(listTasks, {});
    for (const { owner, taskId } of tasks) {
      expect(all).toContain(taskId);
      const task = await read(getTask, { taskId });
      expect([task.includes(`"owner":"${owner}"`), task.includes("ask which")]).toEqual([true, true]);
      expect(await read(listEntries, { taskId })).toContain("ask which");
    }
  });
});

describe("the roles of AdminService", () => {
  it("are read for the methods that only read", () => {
    const reading = AdminService.methods.filter((method) => roleOf(method) === "read");
    expect(reading.map(({ name }) => name).filter((name) => !/^(?:List|Get|Follow|Export)/.test(name))).toEqual([]);
    const writing = AdminService.methods.filter((method) => roleOf(method) === "write");
    expect(writing.map(({ name }) => name).filter((name) => /^(?:List|Get|Follow|Export)/.test(name))).toEqual([]);
    expect(reading.length + writing.length).toBeGreaterThan(20);
  });
});
