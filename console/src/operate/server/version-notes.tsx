import type { ReactNode } from "react";
import { serverWords } from "../../texts/server.js";
import { Note } from "../../ui/parts.js";
import type { MetricsState } from "./metrics-poll.js";
import { keyOf } from "./samples.js";

/** Versions before the first stable one. */
const old = /^0\./;

/** Warns of clients that still speak a version before 1.0. */
export function VersionNotes({ metrics: { samples } }: { readonly metrics: MetricsState }): ReactNode {
  const byVersion = samples.at(-1)?.sums.get(keyOf("parley_calls_total", "version")) ?? new Map<string, number>();
  const calls = [...byVersion].filter(([version, count]) => old.test(version) && count > 0).sort();
  if (calls.length === 0) return undefined;
  return (
    <Note tone="wait">
      {calls.map(([version, count]) => (
        <p key={version}>{serverWords.versions.old(version, count)}</p>
      ))}
      <p>{serverWords.versions.hint}</p>
    </Note>
  );
}
