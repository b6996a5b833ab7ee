import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { carry, generationOf, type Marks, mark, marksOf, weightOf } from "../../src/wire/marks.js";
import { cacheForms, sharedCopy } from "../../src/wire/serialization-cache.js";

/** A value for each mark: a new one does not compile before it is here. */
const all: Required<Marks> = {
  generation: 7,
  weight: { bytes: 1_000_000, source: {} },
  version: "0.1",
  isLast: false,
  index: 0,
  dialect: "schema",
  writer: { write: () => "", pieces: () => [] },
};

const each = Object.entries(all).map(([name, value]) => ({ name: name as keyof Marks, value }));

describe("carry()", () => {
  it.each(each)("carries $name to a message made of the original", ({ name, value }) => {
    const original = mark(create(TaskSchema), { [name]: value });
    const made = carry(original, create(StreamResponseSchema));
    expect(marksOf(made)?.[name]).toBe(value);
  });

  it("carries all marks at once, and keeps those that the message has", () => {
    const { generation, ...others } = all;
    const made = carry(mark(create(TaskSchema), others), mark(create(StreamResponseSchema), { generation }));
    expect(marksOf(made)).toEqual(all);
  });

  it("adds nothing to a message made of one without marks", () => {
    expect(marksOf(carry(create(TaskSchema), create(StreamResponseSchema)))).toBeUndefined();
  });
});

describe("mark()", () => {
  it.each(each)("shows $name on copies, and never a copy's own on the original", ({ name, value }) => {
    const original = mark(cacheForms(create(TaskSchema)), { [name]: value });
    const copy = sharedCopy(original, { id: "copy" });
    expect(marksOf(copy)?.[name]).toBe(value);
    mark(copy, { [name]: undefined });
    expect(marksOf(original)?.[name]).toBe(value);
  });

  it("changes one mark and keeps the others", () => {
    const task = mark(mark(create(TaskSchema), { weight: all.weight }), { generation: 7 });
    mark(task, { generation: 8 });
    expect(generationOf(task)).toBe(8);
    expect(weightOf(task)).toBe(all.weight);
  });
});
