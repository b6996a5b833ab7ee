import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { roleOf } from "../../src/admin/service.js";
import { cover, pairs } from "../support/cover.js";
import { bindings, type Caller, PATIENCE_MS } from "./callers.js";
import { bearer, openWorld, tokens, type World } from "./world.js";

/** Who may call which method, for every method that the descriptor has, over every binding. */

const credentials = {
  none: {},
  wrong: bearer(tokens.wrong),
  "a caller's key as a token": bearer(tokens.caller),
  "a caller's key": { "x-key": tokens.caller },
  read: bearer(tokens.read),
  write: bearer(tokens.write),
} as const;

/** What a call names: a task and a configuration that do not exist, so that it changes nothing. */
const nothing = { taskId: "does-not-exist", configId: "nor-this" };

let world: World;
const callers = new Map<string, Caller>();

beforeAll(async () => {
  world = await openWorld();
  for (const [name, open] of Object.entries(bindings)) callers.set(name, open(world.address));
});
afterAll(async () => {
  for (const caller of callers.values()) caller.close();
  await world.server.close();
});

/** Every method over every binding; in `npm test` each method over one, and each kind and role of methods over each. */
const calls = cover(
  Object.keys(bindings).flatMap((binding) => AdminService.methods.map((method) => ({ binding, method }))),
  ({ binding, method }) => [method.name, ...pairs(binding, method.methodKind, roleOf(method))],
);

describe.each(Object.keys(bindings))("AdminService over %s", (binding) => {
  it.each(calls.filter((call) => call.binding === binding).map(({ method }) => [method.name, method] as const))(
    "%s answers to its role alone",
    async (_, method) => {
      const fields = Object.fromEntries(
        Object.entries(nothing).filter(([name]) => method.input.fields.some(({ localName }) => localName === name)),
      );
      const expected: Record<keyof typeof credentials, string> = {
        none: "UNAUTHENTICATED",
        wrong: "UNAUTHENTICATED",
        "a caller's key as a token": "UNAUTHENTICATED",
        "a caller's key": "UNAUTHENTICATED",
        read: roleOf(method) === "read" ? "admitted" : "PERMISSION_DENIED",
        write: "admitted",
      };
      const outcomes: Record<string, string> = {};
      for (const [name, headers] of Object.entries(credentials)) {
        // A refusal may take its time.
        const streamMs = expected[name as keyof typeof credentials] === "admitted" ? undefined : PATIENCE_MS;
        const outcome = await callers.get(binding)!.call(method, fields, headers, streamMs);
        const isRefused = ["UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED"].includes(outcome.code);
        outcomes[name] = isRefused ? outcome.code : "admitted";
        expect(outcome.text).not.toMatch(/-471[1-4]-/);
      }
      expect(outcomes).toEqual(expected);
    },
  );
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
