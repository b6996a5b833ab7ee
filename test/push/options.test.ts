import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { completed, reply } from "../../src/agent/event.js";
import type { ServerOptions } from "../../src/server/options.js";
import { resolveOptions } from "../../src/server/resolve-options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { testTls } from "../server/tls.js";

const agent: Agent = {
  card: { name: "Probe", description: "Answers.", version: "1.0.0" },
  async *execute() {
    yield completed();
  },
};

const settled = (push: unknown, more: Partial<ServerOptions> = {}): ReturnType<typeof resolveOptions> =>
  resolveOptions({ agent, store: memoryStore(), push, ...more } as ServerOptions);

const faultsOf = (push: unknown): string => {
  try {
    settled(push);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
};

const base64 = Buffer.alloc(32, 7).toString("base64");

describe("push", () => {
  it("is off unless asked for", () => {
    expect(settled(undefined).push).toBeUndefined();
    expect(settled(false).push).toBeUndefined();
    expect(settled(true).push).toEqual({});
    expect(settled({ allowHttp: true }).push).toEqual({ allowHttp: true });
  });

  it("takes every option", () => {
    const all = {
      events: ["status", "artifact", "input-required"],
      allowHttp: true,
      ports: [443, 8443],
      allow: ["hooks.example.com", "*.internal.example", "10.1.0.0/16", "::1", "fd00::/8", "localhost"],
      deny: ["10.1.2.3"],
      tls: { ca: testTls.cert, cert: testTls.cert, key: testTls.key },
      encryptionKeys: [base64, Buffer.alloc(32, 8).toString("hex"), new Uint8Array(32).fill(9)],
    };
    expect(faultsOf(all)).toBe("");
    expect(settled(all).push).toEqual(all);
  });

  it.each([
    ["yes", "push is a text, not true, false or an object of options"],
    [{ event: [] }, "push.event is not known: did you mean events?"],
    [{ events: ["Completed"] }, 'push.events[0] is "Completed", not "task", "status", "artifact"'],
    [{ events: [] }, "push.events is empty"],
    [{ events: "status" }, "push.events is a text, not a list"],
    [{ allowHttp: 1 }, "push.allowHttp is 1, not true or false"],
    [{ ports: [0] }, "push.ports[0] is 0, not a whole number from 1 to 65535"],
    [{ ports: 443 }, "push.ports is a value of type number, not a list"],
    [{ ports: [] }, "push.ports is empty"],
    [{ allow: ["http://x"] }, 'push.allow[0] is "http://x", not a name, an address or a network'],
    [{ allow: ["10.0.0.0/33"] }, 'push.allow[0] is "10.0.0.0/33", not'],
    [{ allow: ["fd00::/129"] }, 'push.allow[0] is "fd00::/129", not'],
    [{ allow: ["*"] }, 'push.allow[0] is "*", not'],
    [{ allow: [7] }, "push.allow[0] is 7, not"],
    [{ deny: ["10.0.0/8"] }, 'push.deny[0] is "10.0.0/8", not'],
    [{ tls: { cert: testTls.cert } }, "push.tls needs both cert and key, or neither"],
    [{ tls: { ca: "none" } }, "push.tls: ca has no certificate in PEM"],
    [{ tls: { cert: testTls.key, key: testTls.cert } }, "push.tls"],
    [{ tls: { ca: testTls.cert, certificate: "" } }, "push.tls.certificate is not known"],
    [{ encryptionKeys: [] }, "push.encryptionKeys is empty"],
    [{ encryptionKeys: ["short"] }, "push.encryptionKeys[0] is not a key of 32 bytes"],
    [{ encryptionKeys: [base64, new Uint8Array(31)] }, "push.encryptionKeys[1] is not a key of 32 bytes"],
    [{ encryptionKeys: [base64, base64] }, "push.encryptionKeys[1] is there twice"],
    [{ encryptionKeys: Array.from({ length: 17 }, (_, i) => new Uint8Array(32).fill(i)) }, "has more than 16"],
  ] as [unknown, string][])("says what is wrong (case %#)", (push, fault) => {
    expect(faultsOf(push)).toContain(fault);
  });

  it("never repeats a key", () => {
    const key = "c2VjcmV0LXNlY3JldC1zZWNyZXQ=";
    expect(faultsOf({ encryptionKeys: [key] })).not.toContain(key);
    expect(faultsOf({ encryptionKeys: key })).not.toContain(key);
  });

  it("is in the cards of agents that make tasks", () => {
    const cardOf = (options: Partial<ServerOptions>): unknown =>
      settled(true, options).agents.all.map(({ card }) => card.capabilities?.pushNotifications);
    expect(cardOf({})).toEqual([true]);
    const { agent: _, ...several } = {
      agent,
      agents: {
        worker: agent,
        either: { ...agent, responds: "either" as const },
        messages: {
          ...agent,
          responds: "message" as const,
          async *execute() {
            yield reply("Hello.");
          },
        },
        silent: { ...agent, card: { ...agent.card, capabilities: { pushNotifications: false } } },
      },
    };
    const settings = resolveOptions({ ...several, store: memoryStore(), push: true } as ServerOptions);
    expect(settings.agents.all.map(({ card }) => card.capabilities?.pushNotifications)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it("is refused to a card that claims it without tasks", () => {
    const claims = {
      ...agent,
      responds: "message",
      card: { ...agent.card, capabilities: { pushNotifications: true } },
    };
    expect(() => settled(true, { agent: claims as Agent })).toThrow("capabilities.pushNotifications is true, but");
  });
});
