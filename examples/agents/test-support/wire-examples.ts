import { readFileSync } from "node:fs";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { readSse } from "../../../test/support/sse.js";
import type { Served } from "./callers.js";

/** A request that a README shows, and the answer to it: one object, or the events of a stream. */
interface WireExample {
  readonly line: number;
  readonly request: JsonObject;
  readonly answers: readonly JsonValue[];
  readonly isStream: boolean;
}

/** Sends the JSON-RPC requests that a README shows, in order, and compares the answers. `…` stands for any text. */
export function describeWireExamples(readme: URL, served: () => Served): void {
  const examples = examplesIn(readFileSync(readme, "utf8"));
  describe("the wire examples of the README", () => {
    it("are there", () => expect(examples.length).toBeGreaterThan(0));

    it.each(examples.map((example) => [example.line, example] as const))("line %i", async (_, example) => {
      const { http, url } = served();
      const response = await http.exchange({
        method: "POST",
        url: `${url}/`,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(example.request),
      });
      const answers = example.isStream ? await eventsOf(response.body) : [JSON.parse(await response.text())];
      expect(answers).toEqual(example.answers.map(patternOf));
    });
  });
}

/** Reads the blocks of a page: a request in `json`, then its answer in `json`, or its events in `text`. */
function examplesIn(page: string): WireExample[] {
  const blocks = [...page.matchAll(/^```(json|text)\n([\s\S]*?)^```$/gm)].map(({ 1: kind, 2: text = "", index }) => {
    return { kind, text, line: page.slice(0, index).split("\n").length };
  });
  return blocks.flatMap(({ kind, text, line }, index): WireExample[] => {
    const request = kind === "json" ? (JSON.parse(text) as JsonObject) : {};
    const answer = blocks[index + 1];
    if (request.method === undefined || answer === undefined) return [];
    const isStream = answer.kind === "text";
    const texts = isStream ? (answer.text.match(/(?<=^data: ).*$/gm) ?? []) : [answer.text];
    return [{ line, request, isStream, answers: texts.map((one) => JSON.parse(one) as JsonValue) }];
  });
}

async function eventsOf(body: AsyncIterable<Uint8Array>): Promise<JsonValue[]> {
  const events: JsonValue[] = [];
  for await (const { data } of readSse(body)) events.push(JSON.parse(data) as JsonValue);
  return events;
}

/** Returns what `toEqual` compares with: texts with `…` become patterns. */
function patternOf(shown: JsonValue): unknown {
  if (typeof shown === "string" && shown.includes("…")) {
    return expect.stringMatching(new RegExp(`^${shown.split("…").map(escaped).join("[\\s\\S]*")}$`));
  }
  if (Array.isArray(shown)) return shown.map(patternOf);
  if (typeof shown !== "object" || shown === null) return shown;
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, patternOf(value)]));
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
