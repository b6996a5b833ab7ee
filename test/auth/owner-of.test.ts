import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Caller, httpBearerScheme } from "../../src/auth/index.js";
import { createA2A, type ServiceInterceptor } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import type { CallOptions, Driver } from "../support/driver.js";
import { everyBinding, type SecuredWorld, say, secured, titleOf } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const as = (token: string): CallOptions => ({ headers: { Authorization: `Bearer ${token}` } });

const tokens = [
  { owner: "ann", token: "ann", claims: { org: "north" } },
  { owner: "ben", token: "ben", claims: { org: "north" } },
  { owner: "cid", token: "cid", claims: { org: "south" } },
  { owner: "dot", token: "dot" },
];
const security = { schemes: { bearer: httpBearerScheme({ tokens }) } };
/** The same check, as an authenticator. */
const authenticator = {
  authenticate: (call: { header(name: string): string | undefined }) =>
    tokens.find(({ token }) => call.header("authorization") === `Bearer ${token}`),
};
const ownerOf = ({ claims }: Caller): string | undefined => claims.org as string | undefined;

const passing: ServiceInterceptor = (next) => next;

const seen: Caller[] = [];
const agent = {
  ...obedient("owned"),
  accept(_request: unknown, caller: Caller): void {
    seen.push(caller);
  },
};

describe.each([
  ["declared", { agent: { ...agent, security }, ownerOf }],
  ["found by an authenticator", { agent, authenticator, ownerOf }],
  // An author's interceptor may pass a call on to another agent, whose guard checks the caller again.
  ["declared, behind interceptors", { agent: { ...agent, security }, ownerOf, interceptors: [passing] }],
] as const)("callers %s, whose organisation owns what they create,", (_title, options) => {
  let world: SecuredWorld;
  beforeAll(async () => {
    world = await secured(options);
  });
  afterAll(() => world.close());

  it.each(everyBinding.map(titleOf))("share their tasks with its members alone, over %s", async (title) => {
    const driver = world.drivers.get(title) as Driver;
    seen.length = 0;
    const { message, error } = await driver.call("SendMessage", say("ask Which one?") as JsonObject, as("ann"));
    expect(error).toBeUndefined();
    expect(seen).toMatchObject([{ owner: "north", subject: "ann", authenticated: true, claims: { org: "north" } }]);
    const { id } = (message as unknown as { task: { id: string } }).task;
    const mate = await driver.call("GetTask", { id }, as("ben"));
    expect(mate.message).toMatchObject({ id });
    const listed = await driver.call("ListTasks", {}, as("ben"));
    expect(JSON.stringify(listed.message)).toContain(id);
    const stranger = await driver.call("GetTask", { id }, as("cid"));
    expect(stranger.error?.reason).toBe("TASK_NOT_FOUND");
    expect(JSON.stringify((await driver.call("ListTasks", {}, as("cid"))).message)).not.toContain(id);
    const refused = await driver.call("GetTask", { id }, as("dot"));
    expect(refused.error?.reason).toBe("PERMISSION_DENIED");
  });
});

describe("ownerOf", () => {
  it("is not asked about anonymous callers, who stay nobody", async () => {
    const asked = vi.fn(() => "somebody");
    const world = await secured({
      agent: { ...agent, security: { ...security, require: ["bearer", {}] } },
      ownerOf: asked,
    });
    seen.length = 0;
    const { error } = await (world.drivers.get("jsonrpc") as Driver).call("SendMessage", say("echo a") as JsonObject);
    await world.close();
    expect(error).toBeUndefined();
    expect(asked).not.toHaveBeenCalled();
    expect(seen).toMatchObject([{ owner: "", authenticated: false }]);
  });

  it("is an internal error where it throws, and a function", async () => {
    const world = await secured({
      agent: { ...agent, security },
      ownerOf: () => {
        throw new Error("no such directory: cn=secret");
      },
    });
    const { error } = await (world.drivers.get("jsonrpc") as Driver).call("ListTasks", {}, as("ann"));
    await world.close();
    expect(error?.message).toContain("Internal error");
    expect(JSON.stringify(error)).not.toContain("cn=secret");
    expect(() => createA2A({ agent, store: memoryStore(), ownerOf: "org" as never })).toThrow(
      /ownerOf is "org", not a function/,
    );
  });
});
