// A live page: sliders whose values go to the server, and poses that come back. Only numbers travel either way.

const short = (value) => String(Number(Number(value).toPrecision(4)));

export class Live {
  constructor(form, page) {
    this.form = form;
    this.page = page;
    this.base = location.pathname;
    this.values = new Map();
    form.hidden = false;
    for (const { name, label, low, high, value, group } of page.head.live) this.addSlider(name, label, low, high, value, group);
    this.follow();
  }

  addSlider(name, label, low, high, value, group) {
    const box = document.createElement("label");
    const shown = document.createElement("output");
    const slider = document.createElement("input");
    box.textContent = label;
    Object.assign(slider, { type: "range", min: low, max: high, step: (high - low) / 1000 || 1, value });
    slider.setAttribute("aria-label", label);
    shown.textContent = short(value);
    slider.addEventListener("input", () => {
      shown.textContent = short(slider.value);
      this.send({ group, name, value: Number(slider.value) });
    });
    box.append(shown, slider);
    this.form.append(box);
    this.values.set(`${group} ${name}`, { slider, shown });
  }

  // One change is under way at a time; of those that come meanwhile, the last one follows.
  async send(change) {
    this.next = change;
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const body = JSON.stringify(this.next);
      this.next = undefined;
      try {
        const answer = await fetch(`${this.base}change`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
        this.page.say(answer.ok ? "" : await answer.text());
      } catch {
        this.page.say("The program that showed this mechanism has ended.");
      }
    }
    this.busy = false;
  }

  // The server answers when there is a state that is newer than the one that is shown.
  async follow() {
    let seen = 0;
    for (;;) {
      try {
        const answer = await fetch(`${this.base}state?after=${seen}`);
        if (!answer.ok) throw new Error(String(answer.status));
        const state = await answer.json();
        if (state.number === seen) continue;
        seen = state.number;
        this.show(state);
      } catch {
        this.page.say("The program that showed this mechanism has ended.");
        return;
      }
    }
  }

  show({ poses, amplitudes, values }) {
    this.page.stage.tracks[0].poses.set(poses);
    this.page.stage.tracks[0].amplitudes?.set(amplitudes);
    for (const [key, value] of Object.entries(values)) {
      const own = this.values.get(key);
      if (!own || own.slider === document.activeElement) continue;
      own.slider.value = value;
      own.shown.textContent = short(value);
    }
    this.page.invalidate();
  }
}
