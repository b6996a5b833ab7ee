import { useEffect } from "react";
import { tinykeys } from "tinykeys";

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Goes from the chosen task to its answer. */
function enter(event: KeyboardEvent): void {
  if (!(event.target instanceof HTMLElement) || !event.target.matches("[data-inbox]")) return;
  event.preventDefault();
  event.target.querySelector("textarea")?.focus();
}

/** Goes from the answer back to its task. */
function blurField({ target }: KeyboardEvent): void {
  if (target instanceof HTMLTextAreaElement) target.closest<HTMLElement>("[data-inbox]")?.focus();
}

/** `j` and `k` go from one waiting task to the next, Enter to its answer, and Esc leaves the answer. */
export function useCardKeys(): void {
  useEffect(() => {
    const move = (by: 1 | -1) => (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const cards = [...document.querySelectorAll<HTMLElement>("[data-inbox]")];
      const at = cards.findIndex((card) => card.contains(document.activeElement));
      const next = cards[at === -1 ? 0 : Math.max(0, Math.min(cards.length - 1, at + by))];
      if (next === undefined) return;
      event.preventDefault();
      next.focus();
      next.scrollIntoView({ block: "nearest" });
    };
    return tinykeys(window, {
      j: move(1),
      k: move(-1),
      Enter: enter,
      Escape: blurField,
    });
  }, []);
}
