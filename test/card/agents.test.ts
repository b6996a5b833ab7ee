import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { completed } from "../../src/agent/event.js";
import { type AgentsInput, registerAgents, reservedTenants } from "../../src/card/agents.js";
import { anonymous } from "../../src/core/call.js";

const wired = { pushNotifications: false, extensions: [] };
const agent = (name: string, more: Partial<Agent> = {}): Agent => ({
  card: { name, description: "Answers.", version: "1.0.0" },
  async *execute() {
    yield completed();
  },
  ...more,
});
const names = (input: AgentsInput, tenants: string[]): (string | undefined)[] => {
  const directory = registerAgents(input, wired);
  return tenants.map((tenant) => directory.resolve(tenant)?.card.name);
};

describe("registerAgents()", () => {
  it("leads every tenant to the one agent", () => {
    expect(names({ agent: agent("one") }, ["", "a", "b"])).toEqual(["one", "one", "one"]);
  });

  it("leads the listed tenants, and requests without one, to the one agent", () => {
    expect(names({ agent: agent("one"), tenants: ["a"] }, ["", "a", "b"])).toEqual(["one", "one", undefined]);
  });

  it("leads exactly the declared tenants to several agents", () => {
    const agents = { billing: agent("B"), support: agent("S") };
    expect(names({ agents }, ["", "billing", "support", "toString"])).toEqual([undefined, "B", "S", undefined]);
    expect(registerAgents({ agents }, wired).all.map((served) => served.tenant)).toEqual(["billing", "support"]);
  });

  it("needs no tenant where one agent is declared with one", () => {
    expect(names({ agents: { billing: agent("B") } }, ["", "billing", "x"])).toEqual(["B", "B", undefined]);
  });

  it("reserves what paths begin with", () => {
    expect([...reservedTenants].sort()).toEqual([
      ".well-known",
      "extendedAgentCard",
      "message:send",
      "message:stream",
      "tasks",
    ]);
  });

  it("names every fault of every agent and tenant at once", () => {
    const input: AgentsInput = {
      agents: { tasks: agent("T"), "a/b": agent(""), "": agent("E"), c: {} as Agent },
      tenants: ["x"],
    };
    expect(() => registerAgents(input, wired)).toThrow(
      'Invalid agents: tenants goes with agent: agents has its own tenants; the tenant "tasks" is reserved: paths ' +
        'begin with it; the tenant "a/b" contains a slash; a tenant is empty; agents.a/b: card.name is empty; ' +
        "agents.c: the agent has no function execute",
    );
    expect(() => registerAgents({}, wired)).toThrow("agent is missing");
    const deaf = { ...agent("A"), accept: 5 } as unknown as Agent;
    expect(() => registerAgents({ agent: deaf }, wired)).toThrow("accept is not a function");
    expect(() => registerAgents({ agent: agent("A"), agents: { b: agent("B") } }, wired)).toThrow("exclude each other");
  });
});

describe("an extended card", () => {
  it("is absent where the agent has none", () => {
    const [served] = registerAgents({ agent: agent("one") }, wired).all;
    expect(served?.extendedCard).toBeUndefined();
    expect(served?.card.capabilities?.extendedAgentCard).toBe(false);
  });

  it("says what it says and the public card the rest", () => {
    const skills = [{ id: "s", name: "S", description: "s", tags: ["s"] }];
    const [served] = registerAgents({ agent: agent("one", { extendedCard: { skills } }) }, wired).all;
    expect(served?.card).toMatchObject({ skills: [], capabilities: { extendedAgentCard: true } });
    expect(served?.extendedCard?.(anonymous)).toMatchObject({
      name: "one",
      skills,
      capabilities: { extendedAgentCard: true, streaming: true },
    });
  });

  it("may differ by caller, or be refused", () => {
    const extendedCard: Agent["extendedCard"] = (caller) =>
      caller.authenticated ? { description: `For ${caller.owner}.` } : undefined;
    const [served] = registerAgents({ agent: agent("one", { extendedCard }) }, wired).all;
    expect(served?.extendedCard?.(anonymous)).toBeUndefined();
    const ann = { ...anonymous, authenticated: true, owner: "ann" };
    expect(served?.extendedCard?.(ann)).toMatchObject({ name: "one", description: "For ann." });
  });

  it("is checked with the public one", () => {
    const extendedCard = { name: " " };
    expect(() => registerAgents({ agent: agent("one", { extendedCard }) }, wired)).toThrow(
      "extendedCard.name is empty",
    );
  });
});
