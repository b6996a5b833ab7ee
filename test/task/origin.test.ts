import { create } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema } from "../../gen/parley/log/v1/log_pb.js";
import { statusDraft } from "../../src/engine/log/draft.js";
import { decodeEntry, encodeEntry, placeDraft } from "../../src/task/entry.js";
import { noteOrigin, type Origin, originAfter, originFrom } from "../../src/task/origin.js";

const place = { taskId: "task", contextId: "context" };

function entryAt(position: number): LogEntry {
  return placeDraft(statusDraft(place, TaskState.WORKING, undefined, 1_000), position, position);
}

describe("noteOrigin()", () => {
  it("adds no byte to an entry with the origin of the entry before", () => {
    const [plain, noted] = [entryAt(3), entryAt(3)];
    const before = { writer: "process", attempt: 1 };
    expect(noteOrigin(noted, "process", 1, before)).toBe(before);
    expect(encodeEntry(noted)).toEqual(encodeEntry(plain));
    // Another attempt of the same process costs three bytes.
    expect(noteOrigin(noted, "process", 2, before)).toEqual({ writer: "process", attempt: 2 });
    expect(encodeEntry(noted).length).toBe(encodeEntry(plain).length + 3);
  });

  it("lets a reader that begins anywhere know the origin of every entry", () => {
    const origin = fc.record({
      writer: fc.constantFrom("one", "two"),
      attempt: fc.nat(2),
      run: fc.integer({ min: 1, max: 99 }),
    });
    const property = fc.property(fc.array(origin, { minLength: 1, maxLength: 12 }), fc.nat(99), (runs, restartsAt) => {
      const origins = runs.flatMap(({ run, ...of }) => Array.from({ length: run }, () => of));
      let before: Origin | undefined;
      const stored = origins.map(({ writer, attempt }, index) => {
        const entry = entryAt(index + 1);
        // A process that loads the task from a snapshot knows no origin.
        before = noteOrigin(entry, writer, attempt, index === restartsAt ? undefined : before);
        return encodeEntry(entry);
      });
      for (let position = 1; position <= stored.length; position += 13) {
        let known: Origin | undefined;
        for (let at = originFrom(position); at <= position; at++)
          known = originAfter(decodeEntry(stored[at - 1]!), known);
        expect(known).toEqual(origins[position - 1]);
      }
    });
    fc.assert(property, { numRuns: 50 });
  });

  it("knows no origin of the entries of an older version", () => {
    expect(originAfter(decodeEntry(encodeEntry(entryAt(1))), undefined)).toBeUndefined();
    expect(originAfter(create(LogEntrySchema, { position: 2, attempt: 1 }), undefined)).toBeUndefined();
  });
});
