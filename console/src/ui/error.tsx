import type { ReactNode } from "react";
import { words } from "../texts/words.js";
import { Button, css, Note } from "./parts.js";

/** Returns the sentence of an error for a person. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // ConnectError puts its code before the text.
  const raw = (error as { rawMessage?: unknown }).rawMessage;
  return typeof raw === "string" && raw !== "" ? raw : error.message;
}

interface ErrorProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  /** Other remedies. */
  readonly children?: ReactNode;
}

/** An error in place of what could not be loaded, with a way to try again. */
export function ErrorNote({ error, onRetry, children }: ErrorProps): ReactNode {
  return (
    <Note tone="bad">
      <p>{sentenceOf(error)}</p>
      {children}
      {onRetry !== undefined && (
        <div className={css.row} style={{ marginTop: 8 }}>
          <Button onClick={onRetry}>{words.tryAgain}</Button>
        </div>
      )}
    </Note>
  );
}
