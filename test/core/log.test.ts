import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { guardedLogger } from "../../src/core/log.js";

/** The fields of a line that a real logger writes. */
function logged(facts: object): Record<string, unknown> {
  const lines: string[] = [];
  guardedLogger(pino({}, { write: (line) => lines.push(line) })).error(facts, "an agent failed");
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] as string);
}

describe("guardedLogger()", () => {
  it("passes facts on as they are", () => {
    const line = logged({ err: new Error("why"), reference: "r" });
    expect(line).toMatchObject({ err: { message: "why" }, reference: "r", msg: "an agent failed" });
  });

  it("says of facts that a logger breaks over what can be said: ids and texts, and what an error says", () => {
    const frozen = Object.freeze(new Error("why"));
    const line = logged({ err: frozen, reference: "r", count: 2 });
    expect(line).toMatchObject({
      reference: "r",
      count: 2,
      msg: "an agent failed (some facts could only be logged as text)",
    });
    expect(line.err).toMatch(/^Error: why\n/);
  });

  it("says of what throws when it is looked at that it does", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(logged({ err: proxy, reference: "r" })).toMatchObject({ err: "cannot be read", reference: "r" });
  });

  it("is quiet where the logger breaks over everything", () => {
    const broken = (): never => {
      throw new Error("broken");
    };
    guardedLogger({ debug: broken, info: broken, warn: broken, error: broken }).error({ a: 1 }, "text");
  });
});
