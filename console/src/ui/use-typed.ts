import { useEffect, useRef, useState } from "react";

/** Time after the last key until a value is taken, in milliseconds. */
const DEBOUNCE = 300;

/** A field whose value is taken when the typing rests. */
export function useTyped(value: string, onValue: (value: string) => void): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(value);
  const told = useRef(value);
  const tell = useRef(onValue);
  useEffect(() => {
    tell.current = onValue;
  });
  // The address may change by other hands.
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => {
    if (typed === told.current) return;
    const timer = setTimeout(() => {
      told.current = typed;
      tell.current(typed);
    }, DEBOUNCE);
    return () => clearTimeout(timer);
  }, [typed]);
  return [typed, setTyped];
}
