import { CircleStop } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { Button, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";

interface MessageFormProps {
  readonly initial: string;
  readonly isRunning: boolean;
  /** Names of the field and of the button that stops. */
  readonly texts: { readonly message: string; readonly stop: string };
  /** Content of the button that starts. */
  readonly action: ReactNode;
  readonly onSend: (text: string) => void;
  readonly onStop: () => void;
}

/** Asks for the message of a run, starts and stops it. */
export function MessageForm({ initial, isRunning, texts, action, onSend, onStop }: MessageFormProps): ReactNode {
  const [text, setText] = useState(initial);
  const id = useId();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSend(text);
      }}
    >
      <div className={ui.field}>
        <label htmlFor={id}>{texts.message}</label>
        <div className={css.addRow}>
          <input id={id} className={ui.input} value={text} onChange={({ target }) => setText(target.value)} />
          {isRunning ? (
            <Button key="stop" onClick={onStop}>
              <CircleStop size={15} aria-hidden="true" />
              {texts.stop}
            </Button>
          ) : (
            <Button key="start" kind="main" type="submit" disabled={text.trim() === ""}>
              {action}
            </Button>
          )}
        </div>
      </div>
    </form>
  );
}
