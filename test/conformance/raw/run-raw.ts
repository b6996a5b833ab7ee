import { randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterAll, describe, expect, it } from "vitest";
import { bindingOf } from "../../support/drivers.js";
import { type Answer, type HeaderInput, HttpClient } from "../../support/http.js";
import { valueAt } from "../../support/json-path.js";
import { differences, fill, fillAll, type Saved } from "../../support/match.js";
import { readSse } from "../../support/sse.js";
import { patience } from "../run.js";
import { Worlds } from "../worlds.js";
import type { RawCase, RawStep } from "./raw-case.js";

/** Runs the cases of one binding, each on a new connection. */
export function runRaw(binding: string, cases: readonly RawCase[]): void {
  describe(binding, () => {
    const worlds = new Worlds(bindingOf("rest"), "memory");
    afterAll(() => worlds.close());
    for (const one of cases) {
      const { name, ids, setup = "main" } = one;
      it(`${name} [${ids.join(" ")}]`, async () => runCase(one, (await worlds.get(setup)).address.url), patience);
    }
  });
}

async function runCase({ steps }: RawCase, url: string): Promise<void> {
  const saved = new Map([["run", randomUUID()]]);
  const client = new HttpClient();
  try {
    for (const step of steps) await runStep(client, step, url, saved);
  } finally {
    client.close();
  }
}

async function runStep(client: HttpClient, step: RawStep, url: string, saved: Map<string, string>): Promise<void> {
  const [method = "", target = ""] = fill(step.send, saved).split(" ");
  const answer = await client.exchange({
    method,
    url: url + target,
    headers: fillAll((step.headers ?? {}) as JsonObject, saved) as HeaderInput,
    body: bodyOf(step, saved),
  });
  const faults = answer.status === step.status ? [] : [`the status is ${answer.status} instead of ${step.status}`];
  faults.push(...differences({ ...answer.headers }, step.got ?? {}, saved, "headers"));
  faults.push(
    ...(step.frames === undefined ? await bodyFaults(answer, step, saved) : await frameFaults(answer, step, saved)),
  );
  if (faults.length > 0) expect.fail(`${step.send}\n${faults.join("\n")}`);
}

function bodyOf({ body }: RawStep, saved: Saved): string | Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  return typeof body === "string" ? fill(body, saved) : JSON.stringify(fillAll(body as JsonValue, saved));
}

async function bodyFaults(
  answer: Answer,
  { json, text, save = {} }: RawStep,
  saved: Map<string, string>,
): Promise<string[]> {
  const body = await answer.text();
  const faults = text === undefined ? [] : differences(body, text, saved, "body");
  if (json === undefined) return faults;
  const value = JSON.parse(body) as JsonValue;
  faults.push(...differences(value, json, saved));
  for (const [name, place] of Object.entries(save)) {
    const found = valueAt(value, typeof place === "string" ? place : place[0]);
    saved.set(name, typeof found === "string" ? found : JSON.stringify(found));
  }
  return faults;
}

async function frameFaults(answer: Answer, { frames = [] }: RawStep, saved: Saved): Promise<string[]> {
  const faults: string[] = [];
  let count = 0;
  for await (const { data, id } of readSse(answer.body)) {
    const frame = frames[count++];
    if (frame === undefined) faults.push(`frame ${count} was not expected: ${data}`);
    else {
      faults.push(...differences(JSON.parse(data), frame.data, saved, `frame ${count}`));
      if (frame.id !== undefined) faults.push(...differences(id, frame.id, saved, `id of frame ${count}`));
    }
  }
  if (count < frames.length) faults.push(`there are ${count} frames instead of ${frames.length}`);
  return faults;
}
