import { type ReactNode, useId } from "react";
import { css } from "../../ui/parts.js";
import { useTyped } from "../../ui/use-typed.js";
import look from "./shared.module.css";

interface FieldProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onValue: (value: string | undefined) => void;
  readonly placeholder?: string;
  /** True for the field that `/` goes to. */
  readonly isSearch?: boolean;
}

/** A text that a list is filtered by. */
export function FilterField({ label, value = "", onValue, placeholder, isSearch = false }: FieldProps): ReactNode {
  const id = useId();
  const [typed, setTyped] = useTyped(value, (text) => onValue(text === "" ? undefined : text));
  return (
    <div className={`${css.field} ${look.filter}`}>
      <label htmlFor={id} className={css.label}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        className={css.input}
        value={typed}
        placeholder={placeholder}
        {...(isSearch && { "data-search": "" })}
        onChange={({ target }) => setTyped(target.value)}
      />
    </div>
  );
}

interface ChoiceProps extends Pick<FieldProps, "label" | "value" | "onValue"> {
  /** Values with their names. The first stands for no filter. */
  readonly choices: readonly (readonly [value: string, name: string])[];
}

/** One of several values that a list is filtered by. */
export function FilterChoice({ label, value, onValue, choices }: ChoiceProps): ReactNode {
  const id = useId();
  return (
    <div className={`${css.field} ${look.filter}`}>
      <label htmlFor={id} className={css.label}>
        {label}
      </label>
      <select
        id={id}
        className={css.input}
        value={value ?? ""}
        onChange={({ target }) => onValue(target.value === "" ? undefined : target.value)}
      >
        {choices.map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
