import { type RefObject, useEffect, useRef } from "react";

/** Returns the ref of an element that takes files by drop. */
export function useDrop<Element extends HTMLElement>(
  onFiles: (files: readonly File[]) => void,
): RefObject<Element | null> {
  const element = useRef<Element>(null);
  const latest = useRef(onFiles);
  useEffect(() => {
    latest.current = onFiles;
  });
  useEffect(() => {
    const target = element.current;
    if (target === null) return;
    const stop = new AbortController();
    target.addEventListener("dragover", (event) => event.preventDefault(), { signal: stop.signal });
    target.addEventListener(
      "drop",
      (event) => {
        event.preventDefault();
        event.stopPropagation();
        const files = [...(event.dataTransfer?.files ?? [])];
        if (files.length > 0) latest.current(files);
      },
      { signal: stop.signal },
    );
    return () => stop.abort();
  }, []);
  return element;
}
