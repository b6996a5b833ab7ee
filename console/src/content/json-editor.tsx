import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
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

/** Colours that can be read on the card, in light and dark. */
const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: tags.number, color: "var(--wait)" },
  { tag: [tags.bool, tags.null], color: "var(--bad)" },
  { tag: [tags.separator, tags.squareBracket, tags.brace], color: "var(--soft)" },
]);

/**
 * Replaces a selection by the typed text. A browser that did it itself would keep the colour of the selection in a style
 * that the page's policy blocks.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput: ({ inputType, data }, view) => {
    if (inputType !== "insertText" || data === null || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
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
          syntaxHighlighting(colours),
          keymap.of([{ key: "Mod-Enter", run: submit }, ...defaultKeymap, ...historyKeymap]),
          EditorView.contentAttributes.of({ "aria-label": label }),
          typedOver,
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
