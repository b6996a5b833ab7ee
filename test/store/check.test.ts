import { describe, expect, it } from "vitest";
import { headOf, numbered } from "../../contract/setup.js";
import { appendRejection, checkRequest, type StoredTask } from "../../src/store/check.js";

const place = { tenant: "tenant", owner: "owner", contextId: "context" };
const stored = (named: Partial<StoredTask>): StoredTask => ({
  ...place,
  position: 3,
  finished: false,
  lease: null,
  ...named,
});
const remembered = { fingerprint: "f", taskId: "other", position: 1 };

describe("checkRequest()", () => {
  const request = { head: headOf({ taskId: "a", position: 5 }), expected: 3, entries: numbered(3, 2) };

  it("takes a request that agrees with itself", () => {
    expect(() => checkRequest(request)).not.toThrow();
    const first = { ...request, head: { ...request.head, position: 2 }, expected: 0, creates: true };
    expect(() => checkRequest(first)).not.toThrow();
  });

  it("says what is wrong with any other", () => {
    const wrong = [
      [{ ...request, entries: [] }, "at least one entry"],
      [{ ...request, expected: -1 }, "a whole number"],
      [{ ...request, expected: 2.5 }, "a whole number"],
      [{ ...request, expected: 0 }, "does not create a task"],
      [{ ...request, creates: true }, "creates a task"],
      [{ ...request, expected: 4 }, "position 5, but 4 and 2"],
      [{ ...request, head: { ...request.head, position: 6 } }, "position 6, but 3 and 2"],
      [{ ...request, conversation: { expected: 2, version: 2, bytes: new Uint8Array() } }, "from version 2 to 2"],
    ] as const;
    for (const [each, why] of wrong) {
      expect(() => checkRequest(each)).toThrowError(
        expect.objectContaining({ kind: "failed", message: expect.stringContaining(why) }),
      );
    }
  });
});

describe("appendRejection()", () => {
  const request = { head: headOf({ taskId: "a", position: 4 }), expected: 3 };

  it("lets pass what goes on where the log ends, and what begins one", () => {
    expect(appendRejection(request, stored({}), undefined)).toBeUndefined();
    expect(appendRejection({ ...request, expected: 0 }, undefined, undefined)).toBeUndefined();
  });

  it("calls a wrong position a conflict, whichever side is ahead", () => {
    for (const position of [0, 2, 4]) {
      expect(appendRejection(request, stored({ position }), undefined)).toMatchObject({ kind: "conflict" });
    }
    expect(appendRejection(request, undefined, undefined)).toMatchObject({ kind: "conflict" });
    expect(appendRejection({ ...request, expected: 0 }, stored({}), undefined)).toMatchObject({ kind: "conflict" });
  });

  it("says finished whatever the position", () => {
    for (const position of [2, 3, 4]) {
      expect(appendRejection(request, stored({ position, finished: true }), undefined)).toMatchObject({
        kind: "finished",
      });
    }
  });

  it("lets pass nothing that relies on another lease than the stored one, wherever it goes on", () => {
    const fence = { holder: "me", attempt: 2 };
    const fenced = (lease: StoredTask["lease"], position = 3) =>
      appendRejection({ ...request, fence }, stored({ lease, position }), undefined)?.kind;
    expect(fenced(fence)).toBeUndefined();
    expect(fenced(fence, 4)).toBe("conflict");
    for (const lease of [null, { holder: "you", attempt: 2 }, { holder: "me", attempt: 1 }]) {
      expect(fenced(lease)).toBe("fenced");
      expect(fenced(lease, 4)).toBe("fenced");
      expect(appendRejection(request, stored({ lease }), undefined)).toBeUndefined();
    }
  });

  it("says duplicate before anything else, and what the key stands for", () => {
    for (const task of [undefined, stored({}), stored({ position: 9 }), stored({ finished: true })]) {
      expect(appendRejection(request, task, remembered)).toMatchObject({ kind: "duplicate", remembered });
    }
  });

  it("keeps a task where it belongs", () => {
    for (const moved of [{ tenant: "x" }, { owner: "x" }, { contextId: "x" }]) {
      expect(appendRejection(request, stored(moved), undefined)).toMatchObject({ kind: "failed" });
    }
  });
});
