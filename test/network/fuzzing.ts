import fc from "fast-check";
import { expect } from "vitest";
import type { Judge } from "./answers.js";
import { http1, type RawRequest, type Send } from "./raw-http.js";
import type { Asked } from "./requests.js";
import { messageOf, type Served } from "./serve.js";

/** Server under test, and the judge of its answers. */
export interface Fuzzing {
  readonly served: Served;
  readonly exchange: Send;
  readonly judge: Judge;
  /** Codes that say "the server is broken". */
  readonly internal: readonly (number | string)[];
  readonly runs: number;
}

/** Sends many requests: each is answered with a well-formed error, if with one, and none of them is internal. */
export async function fuzz(
  requests: fc.Arbitrary<RawRequest>,
  { served, exchange, judge, internal, runs }: Fuzzing,
): Promise<void> {
  const seen = new Map<unknown, number>();
  const property = fc.asyncProperty(requests, async (each) => {
    const code = judge(await exchange(each));
    seen.set(code, (seen.get(code) ?? 0) + 1);
    expect(internal).not.toContain(code);
    expect(served.errors()).toEqual([]);
  });
  // A small sample may have no request that is accepted: up to four more are drawn.
  for (let sample = 0; sample === 0 || (sample < 5 && !seen.has(undefined)); sample++) {
    await fc.assert(property, { numRuns: runs });
  }
  // Some requests are accepted and some refused, so the samples lie near the edge of validity.
  expect(seen.get(undefined) ?? 0).toBeGreaterThan(0);
  expect(seen.size).toBeGreaterThan(1);
}

/** Id of a task that exists. */
export async function finishedTask({ port }: Served): Promise<string> {
  const headers = { "content-type": "application/json" };
  const { body } = await http1(port)({ path: "/message:send", headers, body: JSON.stringify(messageOf("hello")) });
  return (JSON.parse(body.toString()) as { task: { id: string } }).task.id;
}

/** The same request with another text in place of one, wherever that stands in its JSON. */
export function replaced({ rpc, request }: Asked, text: string, by: string): Asked {
  return { rpc, request: JSON.parse(JSON.stringify(request).replaceAll(text, by)) as never };
}
