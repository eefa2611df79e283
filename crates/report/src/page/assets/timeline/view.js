// The part of the axis of time that is seen. Times are ns; the span never falls below 200 ns.

const SPAN_MIN = 200;

class View {
  constructor(end) {
    this.end = end;
    this.fit();
  }

  fit() {
    this.show(0, this.end);
  }

  get span() {
    return this.to - this.from;
  }

  /** Shows this part, or as much of it as there is. */
  show(from, to) {
    const span = clamp(to - from, SPAN_MIN, this.end * 1.02);
    const slack = this.end * 0.01;
    this.from = clamp(from, -slack, Math.max(-slack, this.end + slack - span));
    this.to = this.from + span;
  }

  /** Shows `factor` times as much; `t` stays where it is. */
  zoom(t, factor) {
    const span = clamp(this.span * factor, SPAN_MIN, this.end * 1.02);
    const part = (t - this.from) / this.span;
    this.show(t - part * span, t + (1 - part) * span);
  }

  /** Moves by a part of what is seen. */
  pan(part) {
    const by = this.span * part;
    this.show(this.from + by, this.to + by);
  }

  /** Brings an instant into view, if it is not. */
  reveal(t) {
    if (t < this.from || t > this.to) this.show(t - this.span / 2, t + this.span / 2);
  }
}
