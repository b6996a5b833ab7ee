import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { tinykeys } from "tinykeys";
import { words } from "../texts/words.js";
import { Modal } from "../ui/dialog.js";
import { type NavigationItem, operateItems, talkItems } from "./navigation.js";
import css from "./shell.module.css";

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Keys of every page: `?` lists them, `g` and a letter goes to a page, `/` to the search. */
export function Shortcuts({ withAdmin }: { readonly withAdmin: boolean }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  const items = withAdmin ? [...talkItems, ...operateItems] : talkItems;
  useEffect(() => {
    const unlessTyping = (act: () => void) => (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      event.preventDefault();
      act();
    };
    const go = ({ to, key }: NavigationItem) => [`g ${key}`, unlessTyping(() => void navigate({ to }))] as const;
    return tinykeys(window, {
      "Shift+?": unlessTyping(() => setOpen(true)),
      "/": unlessTyping(() => document.querySelector<HTMLElement>("[data-search]")?.focus()),
      ...Object.fromEntries(items.map(go)),
    });
  }, [navigate, items]);
  const { shortcuts } = words;
  return (
    <Modal title={shortcuts.title} isOpen={isOpen} onClose={() => setOpen(false)}>
      <dl className={css.keys}>
        <Keys keys={["?"]}>{shortcuts.help}</Keys>
        <Keys keys={["/"]}>{shortcuts.search}</Keys>
        <Keys keys={["j"]}>{shortcuts.next}</Keys>
        <Keys keys={["k"]}>{shortcuts.previous}</Keys>
        <Keys keys={["Home", "End"]}>{shortcuts.ends}</Keys>
        <Keys keys={["Enter"]}>{shortcuts.open}</Keys>
        {withAdmin && (
          <>
            <Keys keys={["x", "Space"]}>{shortcuts.choose}</Keys>
            <Keys keys={["+", "-", "0"]}>{shortcuts.zoom}</Keys>
            <Keys keys={["←", "→"]}>{shortcuts.move}</Keys>
          </>
        )}
        <Keys keys={["Enter"]}>{shortcuts.message}</Keys>
        <Keys keys={["Ctrl+Enter"]}>{shortcuts.answer}</Keys>
        <Keys keys={["Esc"]}>{shortcuts.close}</Keys>
        {items.map(({ key, name }) => (
          <Keys key={key} keys={["g", key]}>
            {shortcuts.go(name)}
          </Keys>
        ))}
      </dl>
    </Modal>
  );
}

function Keys({ keys, children }: { readonly keys: readonly string[]; readonly children: string }): ReactNode {
  return (
    <>
      <dt>
        {keys.map((key) => (
          <kbd key={key} style={{ marginRight: 4 }}>
            {key}
          </kbd>
        ))}
      </dt>
      <dd>{children}</dd>
    </>
  );
}
