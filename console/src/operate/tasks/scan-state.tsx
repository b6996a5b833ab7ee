import type { ReactNode } from "react";
import { timelineWords } from "../../texts/tasks-timeline.js";
import { ErrorNote } from "../../ui/error.js";
import { Button, css } from "../../ui/parts.js";
import type { TaskLog } from "./task-log.js";
import type { Scan } from "./use-scan.js";

/** Tells how much of a log a view is made from, and reads more. */
export function ScanState({ scan, log }: { readonly scan: Scan; readonly log: TaskLog }): ReactNode {
  const { entries, isReading, error, readOn } = scan;
  if (error !== undefined) return <ErrorNote error={error} />;
  if (isReading && log.total > entries.length + 100) {
    return (
      <span className={`${css.soft} ${css.small}`} role="status">
        {timelineWords.reading(entries.length, log.total)}
      </span>
    );
  }
  if (readOn === undefined) return undefined;
  return (
    <>
      <span className={`${css.soft} ${css.small}`}>{timelineWords.cut(entries.length, log.total)}</span>
      <Button onClick={readOn}>{timelineWords.readOn}</Button>
    </>
  );
}
