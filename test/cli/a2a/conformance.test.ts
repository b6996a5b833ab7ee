import { afterEach, describe, expect, it } from "vitest";
import { httpBearerScheme } from "../../../src/auth/index.js";
import { A2AError } from "../../../src/core/error.js";
import { everyNth, itFirst } from "../../support/cover.js";
import { type Json, openWorld, runIn, type World } from "./world.js";

let world: World | undefined;
afterEach(() => world?.close());

const cardOf = async (of: World) => (await of.run(["card", "get", "AGENT", "-o", "json"])).json;

/** Runs the checks against the agent with a changed card. */
async function checked(of: World, change: (card: Json) => object = () => ({})) {
  const card = await cardOf(of);
  const supportedInterfaces = card.supportedInterfaces.filter((each: Json) => each.protocolVersion === "1.0");
  const files = { "c.json": JSON.stringify({ ...card, supportedInterfaces, ...change(card) }) };
  const { exit, out, json } = await runIn(["conformance", "./c.json", "-o", "json"], { files });
  const failed = json.checks?.filter(({ result }: Json) => result === "fail") ?? [];
  const names = [...new Set(failed.map(({ check }: Json) => check))];
  return { exit, out, json, names, bindings: new Set(failed.map(({ binding }: Json) => binding)) };
}

/** Changes the responses of a method. */
const responding = (name: string, change: (response: Json) => void) => ({
  interceptors: [
    (next: (invocation: Json) => Json) => async (invocation: Json) => {
      const response = await next(invocation);
      if (invocation.method.name === name) change(response);
      return response;
    },
  ],
});

describe("A2ACLI_CONFORM_001 conformance", { timeout: 60_000 }, () => {
  itFirst("checks the card and every interface, and finds nothing wrong with a sound agent", async () => {
    world = await openWorld();
    const { exit, out, err } = await world.run(["conformance", "AGENT"]);
    expect(exit, out + err).toBe(0);
    for (const binding of ["JSONRPC", "HTTP\\+JSON", "GRPC", "CONNECT"]) {
      for (const check of ["reachable", "unknown-task", "unknown-version", "send", "get", "list", "cancel", "stream"]) {
        expect(out).toMatch(new RegExp(`^PASS: ${binding} ${check} \\(`, "m"));
      }
    }
    expect(out).toMatch(/^SKIPPED: JSONRPC reachable .* --a2a-version 0\.3 only$/m);
    expect(out).toMatch(/\nResult: \d+ passed, 0 failed, \d+ skipped\n$/);
  });

  itFirst("checks interfaces of an older version when they are asked for", async () => {
    world = await openWorld();
    const { exit, out, err } = await world.run(["conformance", "AGENT", "--a2a-version", "0.3"]);
    expect(exit, out + err).toBe(0);
    for (const binding of ["JSONRPC", "HTTP\\+JSON", "GRPC"]) {
      expect(out).toMatch(new RegExp(`^PASS: ${binding} cancel \\(`, "m"));
      expect(out).toMatch(new RegExp(`^SKIPPED: ${binding} list .* not in A2A 0\\.3$`, "m"));
    }
  });

  itFirst("leaves no task running", async () => {
    world = await openWorld();
    await world.run(["conformance", "AGENT", "--message", "hold"]);
    const { json } = await world.run(["task", "list", "-a", "AGENT", "--all", "-o", "json"]);
    expect(json.tasks.length).toBeGreaterThan(3);
    expect(new Set(json.tasks.map((task: Json) => task.status.state))).toEqual(new Set(["TASK_STATE_CANCELED"]));
  });

  itFirst("accepts an agent that answers with messages", async () => {
    world = await openWorld();
    const { exit, json } = await world.run(["conformance", "AGENT", "-o", "json", "--message", "say hello"]);
    expect(exit).toBe(0);
    expect(json.checks.find(({ check }: Json) => check === "list")).toMatchObject({ result: "skipped" });
  });

  const faults: readonly (readonly [
    about: string,
    options: Readonly<Record<string, unknown>>,
    change: (card: Json) => object,
    names: string[],
  ])[] = [
    ["a card without a version", {}, () => ({ version: "" }), ["card"]],
    ["streams that are not declared", {}, () => ({ capabilities: { streaming: false } }), ["stream"]],
    [
      "streams that are declared and missing",
      { capabilities: { streaming: false } },
      () => ({ capabilities: { streaming: true } }),
      ["stream"],
    ],
    [
      "an extended card that is declared and missing",
      {},
      (card) => ({ capabilities: { ...card.capabilities, extendedAgentCard: true } }),
      ["extended-card"],
    ],
    ["lists without the task", responding("ListTasks", (page) => page.tasks.splice(0)), () => ({}), ["list"]],
    [
      "tasks of another id",
      responding("GetTask", (task) => {
        task.id = "other";
      }),
      () => ({}),
      ["get"],
    ],
    [
      "tasks without a context",
      responding("SendMessage", ({ payload }) => {
        payload.value.contextId = "";
      }),
      () => ({}),
      ["send"],
    ],
  ];
  it.each(everyNth(faults, 3))("finds %s, over every interface", async (_, options, change, names) => {
    world = await openWorld(options);
    const found = await checked(world, change);
    expect(found.exit, found.out).toBe(1);
    for (const name of names) expect(found.names).toContain(name);
    if (names[0] !== "card") expect(found.bindings).toEqual(new Set(["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"]));
    expect(found.json.summary.fail).toBeGreaterThan(0);
  });

  itFirst("finds an error of another name", async () => {
    world = await openWorld();
    world.before = ({ method, request }) => {
      if (method === "GetTask" && request.id.startsWith("unknown-"))
        throw new A2AError("INVALID_PARAMS", "No such task.");
    };
    const { exit, json } = await world.run(["conformance", "AGENT", "-o", "json"]);
    expect(exit).toBe(1);
    const { detail } = json.checks.find(({ check }: Json) => check === "unknown-task");
    expect(detail).toMatch(/^expected TASK_NOT_FOUND, got INVALID_PARAMS/);
  });

  itFirst("finds an interface that is not reached, and checks the others", async () => {
    world = await openWorld();
    const { exit, names, json } = await checked(world, ({ supportedInterfaces }) => ({
      supportedInterfaces: [
        { url: "http://127.0.0.1:9/", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        ...supportedInterfaces.filter((each: Json) => each.protocolBinding === "HTTP+JSON").slice(0, 1),
      ],
    }));
    expect(exit).toBe(1);
    expect(names).toEqual(["reachable"]);
    expect(json.checks.filter(({ binding, result }: Json) => binding === "HTTP+JSON" && result === "pass")).not.toEqual(
      [],
    );
  });

  itFirst("fails without a credential, as other commands do", async () => {
    const bearer = httpBearerScheme({ check: () => undefined });
    world = await openWorld({ agent: { security: { schemes: { bearer } } } });
    const { exit, out } = await world.run(["conformance", "AGENT", "-o", "json"]);
    expect(exit).toBe(4);
    expect(JSON.parse(out).error.code).toBe("A2ACLI_ERR_CREDENTIALS_MISSING");
  });

  itFirst("rejects an endpoint, and an agent that is named twice", async () => {
    const wrong = [
      ["conformance", "-e", "http://127.0.0.1:9", "--transport", "rest"],
      ["conformance", "a.example", "-a", "b.example"],
    ];
    for (const argv of wrong) expect((await runIn(argv)).exit).toBe(2);
  });
});
