import { Pause, Play } from "lucide-react";
import type { ReactNode } from "react";
import { taskWords } from "../../texts/tasks.js";
import { Button, css } from "../../ui/parts.js";
import type { FollowState } from "./follow.js";
import page from "./tasks.module.css";

interface LiveStateProps {
  readonly state: FollowState;
  /** Pauses or continues; undefined without that choice. */
  readonly onToggle?: () => void;
}

/** Tells whether the page follows changes, and pauses that. */
export function LiveState({ state, onToggle }: LiveStateProps): ReactNode {
  const isPaused = state.is === "paused";
  const Icon = isPaused ? Play : Pause;
  return (
    <>
      <span className={`${page.state} ${css.small} ${css.soft}`} role="status" title={reasonOf(state)}>
        <span className={page.dot} data-is={state.is} />
        {taskWords[state.is]}
      </span>
      {onToggle !== undefined && (
        <Button onClick={onToggle}>
          <Icon size={15} aria-hidden="true" />
          {isPaused ? taskWords.resume : taskWords.pause}
        </Button>
      )}
    </>
  );
}

const reasonOf = (state: FollowState): string | undefined =>
  state.is === "reconnecting" && state.reason !== "" ? state.reason : undefined;
