import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { uiMessageStream } from "../../src/client/ai-sdk/index.js";
import { ClientFold } from "../../src/client/follow/fold.js";
import { TurnText } from "../../src/client/react/turn-text.js";
import type { Update } from "../../src/task/answer.js";
import { textOf } from "../../src/task/plain.js";
import { scaled } from "../support/soak.js";

const place = { taskId: "t", contextId: "c" };
const partsOf = (text: string) => [{ content: { case: "text" as const, value: text } }];

const begin = create(StreamResponseSchema, {
  payload: { case: "task", value: { id: "t", contextId: "c", status: { state: TaskState.WORKING } } },
});

function event(text: string, more: { append?: boolean; lastChunk?: boolean; artifactId?: string }): StreamResponse {
  const { artifactId = "a", append = false, lastChunk = false } = more;
  const value = { ...place, artifact: { artifactId, parts: partsOf(text) }, append, lastChunk };
  return create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } });
}

const anew = (text: string, artifactId = "a") => event(text, { artifactId });
const more = (text: string, artifactId = "a") => event(text, { artifactId, append: true });
const last = (text: string) => event(text, { append: true, lastChunk: true });

function status(state: TaskState): StreamResponse {
  return create(StreamResponseSchema, { payload: { case: "statusUpdate", value: { ...place, status: { state } } } });
}

const completed = status(TaskState.COMPLETED);

/** A task returned by a read, with the texts of its artifacts. */
function read(texts: Readonly<Record<string, string>>, state = TaskState.WORKING): Task {
  const artifacts = Object.entries(texts).map(([artifactId, text]) => ({ artifactId, parts: partsOf(text) }));
  return create(TaskSchema, { id: "t", contextId: "c", status: { state }, artifacts });
}

type Step = StreamResponse | Task;

function updatesOf(steps: readonly Step[], fold = new ClientFold()): Update[] {
  return [begin, ...steps].flatMap((step) => {
    const update = step.$typeName === "lf.a2a.v1.Task" ? fold.takeTask(step) : fold.take(step);
    return update === undefined ? [] : [structuredClone(update)];
  });
}

/** The texts of updates, with `!` before a text that replaces the earlier ones. */
function textsOf(steps: readonly Step[], fold?: ClientFold): string[] {
  const marked = updatesOf(steps, fold).map(({ text, replaced }) => (replaced ? `!${text}` : text));
  return marked.filter((text) => text !== "");
}

const told = [anew("one "), more("two "), more("three")];

describe("Update.text of an artifact that an agent replaces", () => {
  it("goes on behind the given text where the new text repeats it", () => {
    const again = [anew("one"), more(" two th"), more(""), more("ree four"), more(" five")];
    expect(textsOf([...told, ...again, completed])).toEqual(["one ", "two ", "three", " four", " five"]);
    expect(textsOf([...told, anew("one "), ...told, last(" four")])).toEqual(["one ", "two ", "three", " four"]);
    expect(textsOf([...told, ...told, completed])).toEqual(["one ", "two ", "three"]);
  });

  it("begins anew where the new text differs", () => {
    expect(textsOf([...told, anew("one "), more("too"), more(" much"), completed])).toEqual([
      ...["one ", "two ", "three"],
      ...["!one too", " much"],
    ]);
    expect(textsOf([...told, anew("1 "), more("2")])).toEqual(["one ", "two ", "three", "!1 ", "2"]);
    expect(textsOf([...told, anew("one two"), more(" threads")])).toEqual([
      "one ",
      "two ",
      "three",
      "!one two threads",
    ]);
  });

  it("begins anew where the new text ends before the given one: with its last piece, or with the turn", () => {
    expect(textsOf([...told, anew("one "), last("two"), completed])).toEqual(["one ", "two ", "three", "!one two"]);
    for (const state of [TaskState.COMPLETED, TaskState.FAILED, TaskState.INPUT_REQUIRED]) {
      const steps = [...told, anew("one "), status(TaskState.WORKING), status(state)];
      expect(textsOf(steps)).toEqual(["one ", "two ", "three", "!one "]);
      expect(textsOf([...told, read({ a: "one" }, state)])).toEqual(["one ", "two ", "three", "!one"]);
    }
  });

  it("is that of each artifact apart", () => {
    const two = [anew("one ", "a"), anew("uno ", "b"), more("two", "a"), more("dos", "b")];
    expect(textsOf([...two, ...two, more(" three", "a"), completed])).toEqual(["one ", "uno ", "two", "dos", " three"]);
    const other = [anew("one ", "a"), anew("uno ", "b"), more("too", "a"), more("dos", "b"), more(" tres", "b")];
    expect(textsOf([...two, ...other])).toEqual(["one ", "uno ", "two", "dos", "!one too", " tres"]);
  });

  it("goes on over a task that is read meanwhile", () => {
    expect(textsOf([...told, read({ a: "one " }), more("two th"), more("ree four")])).toEqual([
      ...["one ", "two ", "three", " four"],
    ]);
    expect(textsOf([...told, anew("one "), read({ a: "one two three four" })])).toEqual([
      ...["one ", "two ", "three", " four"],
    ]);
    // The read replaces one artifact's text, so the text of both begins anew.
    expect(textsOf([...told, anew("uno dos", "b"), read({ a: "one ", b: "ein" }), more("four"), completed])).toEqual([
      ...["one ", "two ", "three", "uno dos", "!einone ", "four"],
    ]);
  });

  it("keeps no more of replaced texts than the task may have", () => {
    const words = "word ".repeat(200);
    const big = (id: string) => [anew(words, id), anew("word ", id)];
    // Two of the texts fit.
    expect(textsOf([...big("a"), ...big("b"), ...big("c")], new ClientFold(2_900))).toEqual([
      ...[words, words, words, "!word "],
    ]);
    expect(textsOf([...big("a"), ...big("a"), more(words.slice(5)), ...big("b")], new ClientFold(2_900))).toEqual([
      ...[words, words],
    ]);
  });

  const pieces = fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          text: fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 4 }),
          append: fc.boolean(),
        }),
      },
      fc.record({ read: fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 6 }) }),
    ),
    { maxLength: 30 },
  );

  it("is what a printer, a page and a chat have to show, whatever an agent replaces", async () => {
    await fc.assert(
      fc.asyncProperty(pieces, fc.boolean(), async (drawn, isCompleted) => {
        const steps = drawn.map((piece) => ("read" in piece ? read({ a: piece.read }) : event(piece.text, piece)));
        const updates = updatesOf(isCompleted ? [...steps, completed] : steps);
        const page = new TurnText({});
        let printed = "";
        let whole = "";
        for (const update of updates) {
          printed = update.replaced ? update.text : printed + update.text;
          page.take(update);
          whole = update.task?.artifacts.map(textOf).join("") ?? "";
          expect(printed.startsWith(whole)).toBe(true);
          expect(page.text).toBe(printed);
        }
        if (isCompleted) expect(printed).toBe(whole);
        const blocks = new Map<string, string>();
        for await (const chunk of uiMessageStream(each(updates))) {
          if (chunk.type === "text-delta") blocks.set(chunk.id, (blocks.get(chunk.id) ?? "") + chunk.delta);
        }
        // The chat keeps a replaced text as an earlier block.
        if (printed !== "") expect([...blocks.values()].at(-1)).toBe(printed);
      }),
      { numRuns: scaled(150, 5_000) },
    );
  });
});

async function* each(updates: readonly Update[]): AsyncGenerator<Update> {
  yield* updates;
}
