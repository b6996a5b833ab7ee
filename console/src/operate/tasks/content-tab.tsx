import { lazy, type ReactNode, Suspense, useId, useMemo, useState } from "react";
import type { Artifact, Part, Task } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Entry } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { textOf } from "../../../../src/client/web.js";
import { PartsView } from "../../content/parts-view.js";
import { taskPageWords } from "../../texts/task.js";
import { Button, css, Skeleton } from "../../ui/parts.js";
import { ContentView } from "./content-view.js";
import { ScanState } from "./scan-state.js";
import page from "./task.module.css";
import type { TaskLog } from "./task-log.js";
import { useScan } from "./use-scan.js";

const Diff = lazy(() => import("../../content/diff-view.js"));

const { content: texts } = taskPageWords;

/** A version of an artifact: what one event began, and the chunks that followed. */
interface Version {
  readonly position: number;
  readonly parts: Part[];
}

/** Messages and artifacts of a task, with the versions that artifacts had. */
export function ContentTab({ task, log }: { readonly task: Task; readonly log: TaskLog }): ReactNode {
  const scan = useScan(log);
  const versions = useMemo(() => versionsOf(scan.entries), [scan.entries]);
  return (
    <>
      <ScanState scan={scan} log={log} />
      <ContentView
        task={task}
        about={(artifact) => {
          const known = versions.get(artifact.artifactId) ?? [];
          return known.length < 2 ? undefined : <Versions artifact={artifact} versions={known} />;
        }}
      />
    </>
  );
}

/** Returns the versions of each artifact: an event without `append` begins a new one. */
function versionsOf(entries: readonly Entry[]): ReadonlyMap<string, readonly Version[]> {
  const all = new Map<string, Version[]>();
  for (const { entry } of entries) {
    if (entry?.event.case !== "artifact") continue;
    const { artifact, append } = entry.event.value;
    if (artifact === undefined) continue;
    const versions = all.get(artifact.artifactId) ?? [];
    all.set(artifact.artifactId, versions);
    if (append && versions.length > 0) versions.at(-1)?.parts.push(...artifact.parts);
    else versions.push({ position: entry.position, parts: [...artifact.parts] });
  }
  return all;
}

interface VersionsProps {
  readonly artifact: Artifact;
  readonly versions: readonly Version[];
}

function Versions({ artifact, versions }: VersionsProps): ReactNode {
  const id = useId();
  const [chosen, setChosen] = useState<number>();
  const [isDiff, setDiff] = useState(false);
  const at = chosen ?? versions.length - 1;
  const [version, before] = [versions[at], versions[at - 1]];
  const parts = at === versions.length - 1 ? artifact.parts : (version?.parts ?? []);
  return (
    <>
      <div className={css.row}>
        <label htmlFor={id} className={css.small}>
          {texts.version}
        </label>
        <select
          id={id}
          className={`${css.input} ${page.speed}`}
          value={at}
          onChange={({ target }) => setChosen(Number(target.value))}
        >
          {versions.map(({ position }, index) => (
            <option key={position} value={index}>
              {texts.versionOf(index + 1, versions.length)}
            </option>
          ))}
        </select>
        {before !== undefined && (
          <Button aria-pressed={isDiff} onClick={() => setDiff(!isDiff)}>
            {texts.changes}
          </Button>
        )}
      </div>
      {isDiff && before !== undefined ? (
        <Suspense fallback={<Skeleton />}>
          <Diff name={artifact.name || artifact.artifactId} before={textOf(before)} after={textOf({ parts })} />
        </Suspense>
      ) : (
        <PartsView parts={parts} />
      )}
    </>
  );
}
