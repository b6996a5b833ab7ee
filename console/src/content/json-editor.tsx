import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { type ReactNode, useEffect, useRef } from "react";
import css from "./content.module.css";

interface JsonEditorProps {
  readonly label: string;
  /** The text at first. */
  readonly text: string;
  readonly onChange: (text: string) => void;
  /** Sends the data, by Ctrl+Enter. */
  readonly onSubmit?: () => void;
}

/** The style of the editor comes with the page's nonce, without which its policy would block it. */
const nonce = (): string => document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";

const look = EditorView.theme({
  "&": { fontSize: "12.5px", maxHeight: "40vh" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", minHeight: "110px" },
  ".cm-gutters": { background: "var(--sunk)", color: "var(--soft)", border: "none" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
});

/** An editor of JSON. Tab leaves it, as it leaves any field. */
export default function JsonEditor({ label, text, onChange, onSubmit }: JsonEditorProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const begin = useRef(text);
  const calls = useRef({ onChange, onSubmit });
  calls.current = { onChange, onSubmit };
  useEffect(() => {
    if (box.current === null) return;
    const submit = (): boolean => {
      calls.current.onSubmit?.();
      return true;
    };
    const view = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: begin.current,
        extensions: [
          EditorView.cspNonce.of(nonce()),
          lineNumbers(),
          history(),
          indentOnInput(),
          bracketMatching(),
          json(),
          keymap.of([{ key: "Mod-Enter", run: submit }, ...defaultKeymap, ...historyKeymap]),
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) calls.current.onChange(update.state.doc.toString());
          }),
          look,
        ],
      }),
    });
    view.focus();
    return () => view.destroy();
  }, [label]);
  return <div ref={box} className={css.editor} />;
}
