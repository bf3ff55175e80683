//go:build ignore

// This program writes aes_bs_ssse3_amd64.s and aes_bs_avx2_amd64.s: bit-sliced
// AES after Käsper and Schwabe, "Faster and Timing-Attack Resistant AES-GCM",
// CHES 2009. Bit i of all bytes of eight blocks is in register i, so that
// SubBytes becomes a circuit of XOR and AND, and no address depends on a secret.
//
// The circuit's nonlinear part, the inversion in GF(2^8), is from Boyar and
// Peralta, "A Small Depth-16 Circuit for the AES S-Box", 2011. Its inputs
// and outputs are linear in those of the S-box, and of the inverse S-box; how,
// is computed here from the definition in FIPS 197. The instructions that do it
// are found with the greedy algorithm of Paar, "Optimized Arithmetic for
// Reed-Solomon Encoders", 1997.
//
// What remains is the order of the instructions and the assignment of registers,
// for which some random orders are tried; the result is always the same.
//
// An argument is the directory to write to instead of the current one.
package main

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	for _, m := range []*machine{
		{title: "SSSE3", file: "aes_bs_ssse3_amd64.s", width: 16},
		{title: "AVX2", file: "aes_bs_avx2_amd64.s", width: 32},
	} {
		if err := m.writeFile(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// The S-box as FIPS 197 defines it: inversion, then an affine transform.

func mul(a, b byte) (p byte) {
	for ; b != 0; b >>= 1 {
		p ^= a * (b & 1)
		a = a<<1 ^ a>>7*0x1b
	}
	return p
}

func inverse(a byte) byte {
	b := a // to the power of 254
	for range 6 {
		b = mul(mul(b, b), a)
	}
	return mul(b, b)
}

func affine(a byte) byte {
	b := a
	for i := 1; i < 5; i++ {
		b ^= bits.RotateLeft8(a, i)
	}
	return b // without the constant 0x63
}

// unaffine is the inverse of affine.
func unaffine(a byte) byte {
	return bits.RotateLeft8(a, 1) ^ bits.RotateLeft8(a, 3) ^ bits.RotateLeft8(a, 6)
}

// A linear is a sum of some variables, one a bit.
type linear uint32

// eval returns the sum, where bit i of x is variable i.
func (l linear) eval(x uint32) uint32 { return uint32(bits.OnesCount32(uint32(l)&x) & 1) }

// boyarPeraltaInputs returns the inputs of the inversion, in the paper's names U7
// and T1 to T27 without some (here 0 and 1 to 21), as sums of the bits of the
// S-box's input, least significant first.
func boyarPeraltaInputs() (y [22]linear) {
	x := func(i int) linear { return 1 << (7 - i) } // the paper counts from the most significant
	y[0] = x(7)
	y[14] = x(3) ^ x(5)
	y[13] = x(0) ^ x(6)
	y[9] = x(0) ^ x(3)
	y[8] = x(0) ^ x(5)
	t0 := x(1) ^ x(2)
	y[1] = t0 ^ x(7)
	y[4] = y[1] ^ x(3)
	y[12] = y[13] ^ y[14]
	y[2] = y[1] ^ x(0)
	y[5] = y[1] ^ x(6)
	y[3] = y[5] ^ y[8]
	t1 := x(4) ^ y[12]
	y[15] = t1 ^ x(5)
	y[20] = t1 ^ x(1)
	y[6] = y[15] ^ x(7)
	y[10] = y[15] ^ t0
	y[11] = y[20] ^ y[9]
	y[7] = x(7) ^ y[11]
	y[17] = y[10] ^ y[11]
	y[19] = y[10] ^ y[8]
	y[16] = t0 ^ y[11]
	y[21] = y[13] ^ y[16]
	y[18] = x(0) ^ y[16]
	return y
}

// inversion computes from the inputs the 18 products that the outputs are sums of.
func inversion[T any](y [22]T, xor, and func(a, b T) T) [18]T {
	t2 := and(y[12], y[15])
	t4 := xor(and(y[3], y[6]), t2)
	t6 := xor(and(y[4], y[0]), t2)
	t7 := and(y[13], y[16])
	t9 := xor(and(y[5], y[1]), t7)
	t11 := xor(and(y[2], y[7]), t7)
	t12 := and(y[9], y[11])
	t14 := xor(and(y[14], y[17]), t12)
	t16 := xor(and(y[8], y[10]), t12)
	t21 := xor(xor(t4, t14), y[20])
	t22 := xor(xor(t6, t16), y[19])
	t23 := xor(xor(t9, t14), y[21])
	t24 := xor(xor(t11, t16), y[18])

	t25 := xor(t21, t22)
	t26 := and(t21, t23)
	t27 := xor(t24, t26)
	t29 := xor(and(t25, t27), t22)
	t30 := xor(t23, t24)
	t31 := xor(t22, t26)
	t33 := xor(and(t31, t30), t24)
	t34 := xor(t23, t33)
	t35 := xor(t27, t33)
	t36 := and(t24, t35)
	t37 := xor(t36, t34)
	t38 := xor(t27, t36)
	t40 := xor(t25, and(t29, t38))

	t41 := xor(t40, t37)
	t42 := xor(t29, t33)
	t43 := xor(t29, t40)
	t44 := xor(t33, t37)
	t45 := xor(t42, t41)
	return [18]T{
		and(t44, y[15]), and(t37, y[6]), and(t33, y[0]),
		and(t43, y[16]), and(t40, y[1]), and(t29, y[7]),
		and(t42, y[11]), and(t45, y[17]), and(t41, y[10]),
		and(t44, y[12]), and(t37, y[3]), and(t33, y[4]),
		and(t43, y[13]), and(t40, y[5]), and(t29, y[2]),
		and(t42, y[9]), and(t45, y[14]), and(t41, y[8]),
	}
}

// sbox returns the inputs of the inversion as sums of the S-box's input bits, and
// the S-box's output bits as sums of the products. Of the inverse S-box it is
// as if 0x63 were already added to its input; of the S-box as if it were yet to be
// added to its output.
func sbox(inverseSbox bool) (in [22]linear, out [8]linear) {
	in = boyarPeraltaInputs()
	if inverseSbox {
		for i, y := range in {
			in[i] = 0
			for bit := range 8 {
				in[i] |= linear(y.eval(uint32(unaffine(1<<bit))) << bit)
			}
		}
	}
	// Which products make each output bit? Of the 256 equations, one for each input,
	// the first 18 bits are the products and the next 8 the outputs.
	xor := func(a, b uint32) uint32 { return a ^ b }
	and := func(a, b uint32) uint32 { return a & b }
	var rows []uint32
	for x := range 256 {
		var y [22]uint32
		for i := range y {
			y[i] = in[i].eval(uint32(x))
		}
		want := affine(inverse(byte(x)))
		if inverseSbox {
			want = inverse(unaffine(byte(x)))
		}
		row := uint32(want) << 18
		for i, z := range inversion(y, xor, and) {
			row |= z << i
		}
		rows = append(rows, row)
	}
	for col := range 18 {
		pivot := slices.IndexFunc(rows[col:], func(r uint32) bool { return r>>col&1 != 0 })
		if pivot < 0 {
			panic("the products are linearly dependent")
		}
		rows[col], rows[col+pivot] = rows[col+pivot], rows[col]
		for i := range rows {
			if i != col && rows[i]>>col&1 != 0 {
				rows[i] ^= rows[col]
			}
		}
	}
	for i, r := range rows {
		if i >= 18 && r != 0 {
			panic("the products do not make an S-box")
		}
		for bit := range 8 {
			if i < 18 && r>>(18+bit)&1 != 0 {
				out[bit] |= 1 << i
			}
		}
	}
	return in, out
}

// A step is the sum of two variables. Those before are the inputs, n in number,
// and the results of earlier steps.
type step struct{ a, b int }

// paar returns steps that compute the targets, sums of n inputs, and which
// variables are the targets. Ties are broken by r.
func paar(targets []linear, n int, r *rand.Rand) (steps []step, result []int) {
	rest := make([]map[int]bool, len(targets)) // variables to be added up for each target
	for i, t := range targets {
		rest[i] = map[int]bool{}
		for v := range n {
			if t>>v&1 != 0 {
				rest[i][v] = true
			}
		}
	}
	for vars := n; ; vars++ {
		best, most := []step(nil), 0
		for a := range vars {
			for b := a + 1; b < vars; b++ {
				count := 0
				for _, s := range rest {
					if s[a] && s[b] {
						count++
					}
				}
				if count > most {
					best, most = nil, count
				}
				if count == most && count > 0 {
					best = append(best, step{a, b})
				}
			}
		}
		if most == 0 {
			break
		}
		s := best[r.IntN(len(best))]
		steps = append(steps, s)
		for _, set := range rest {
			if set[s.a] && set[s.b] {
				delete(set, s.a)
				delete(set, s.b)
				set[vars] = true
			}
		}
	}
	for _, set := range rest {
		for v := range set {
			result = append(result, v)
		}
	}
	return steps, result
}

// bestPaar is the shortest of some.
func bestPaar(targets []linear, n int) (best []step, result []int) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		if s, t := paar(targets, n, r); best == nil || len(s) < len(best) {
			best, result = s, t
		}
	}
	return best, result
}

// A value is a node of a straight-line program.
type value struct {
	op   string   // mnemonic without V; or LOAD, KEY (a load of 16 bytes) or STORE
	imm  string   // immediate operand, with "$"
	args []*value // of which an operation has one or two
	mem  string   // operand in memory

	reg  int // that has it, or -1
	slot int // on the stack that has it, or -1
}

// A program is a list of values in an order in which they can be computed, with
// inputs in registers 0 to 7 and outputs in the same.
type program struct {
	inputs, values, outputs []*value
}

func (p *program) add(v *value) *value {
	p.values = append(p.values, v)
	return v
}

func (p *program) xor(a, b *value) *value { return p.add(&value{op: "PXOR", args: []*value{a, b}}) }
func (p *program) and(a, b *value) *value { return p.add(&value{op: "PAND", args: []*value{a, b}}) }

// withMem applies op to a and memory.
func (p *program) withMem(op string, a *value, mem string) *value {
	return p.add(&value{op: op, args: []*value{a}, mem: mem})
}

func (p *program) load(mem string) *value { return p.add(&value{op: "LOAD", mem: mem}) }

func (p *program) imm(op string, n int, a *value) *value {
	return p.add(&value{op: op, imm: fmt.Sprintf("$%#x", n), args: []*value{a}})
}

// sum computes sums of in.
func (p *program) sum(targets []linear, in []*value) []*value {
	steps, result := bestPaar(targets, len(in))
	vars := slices.Clone(in)
	for _, s := range steps {
		vars = append(vars, p.xor(vars[s.a], vars[s.b]))
	}
	var out []*value
	for _, v := range result {
		out = append(out, vars[v])
	}
	return out
}

func (p *program) subBytes(b []*value, decrypt bool) []*value {
	in, out := sbox(decrypt)
	y := p.sum(in[:], b)
	z := inversion([22]*value(y), p.xor, p.and)
	return p.sum(out[:], z[:])
}

// permute applies a byte shuffle to each register.
func (p *program) permute(b []*value, mask string) []*value {
	m := p.load(mask)
	out := make([]*value, 8)
	for i := range b {
		out[i] = p.add(&value{op: "PSHUFB", args: []*value{b[i], m}})
	}
	return out
}

// rows returns the state with row i moved to row i-n: rows are words here.
func (p *program) rows(n int, a *value) *value {
	return p.imm("PSHUFD", []int{0xe4, 0x39, 0x4e, 0x93}[n], a)
}

// mixColumns: with u = a + a1, where a1 is the row after that of a,
// 2a + 3a1 + a2 + a3 = 2u + a1 + u2.
func (p *program) mixColumns(b []*value) []*value {
	var r, u, out [8]*value
	for i := range 8 {
		r[i] = p.rows(1, b[i])
		u[i] = p.xor(b[i], r[i])
	}
	for i := range 8 {
		out[i] = p.xor(r[i], p.rows(2, u[i]))
		out[i] = p.xor(out[i], u[(i+7)%8])
		if i == 1 || i == 3 || i == 4 { // x^8 = x^4 + x^3 + x + 1
			out[i] = p.xor(out[i], u[7])
		}
	}
	return out[:]
}

// invMixColumns is mixColumns after adding 4 times (a + a2) to each row a, as
// the matrix of InvMixColumns is that of MixColumns times the one with the rows
// 5, 0, 4, 0.
func (p *program) invMixColumns(b []*value) []*value {
	var t, out [8]*value
	for i := range 8 {
		t[i] = p.xor(b[i], p.rows(2, b[i]))
	}
	t67 := p.xor(t[6], t[7])
	for i, add := range [8][]*value{
		{t[6]}, {t67}, {t[0], t[7]}, {t[1], t[6]}, {t[2], t67}, {t[3], t[7]}, {t[4]}, {t[5]},
	} {
		out[i] = b[i]
		for _, a := range add {
			out[i] = p.xor(out[i], a)
		}
	}
	return p.mixColumns(out[:])
}

// transpose exchanges bit i of the bytes in register j with bit j of those in
// register i.
func (p *program) transpose(b []*value) []*value {
	out := slices.Clone(b)
	for _, n := range []int{1, 2, 4} {
		for i := range 8 {
			if i&n != 0 {
				continue
			}
			lo, hi := out[i], out[i+n]
			t := p.xor(p.imm("PSRLQ", n, lo), hi)
			t = p.withMem("PAND", t, fmt.Sprintf("bsBits%d<>(SB)", n))
			out[i+n] = p.xor(hi, t)
			out[i] = p.xor(lo, p.imm("PSLLQ", n, t))
		}
	}
	return out
}

// addRoundKey adds the round key at R9.
func (p *program) addRoundKey(b []*value) []*value {
	out := make([]*value, 8)
	for i := range b {
		k := p.add(&value{op: "KEY", mem: fmt.Sprintf("%d(R9)", 16*i)})
		out[i] = p.xor(b[i], k)
	}
	return out
}

// state returns the state in registers 0 to 7.
func (p *program) state() []*value {
	for range 8 {
		p.inputs = append(p.inputs, new(value))
	}
	return p.inputs
}

// A machine is one set of instructions.
type machine struct {
	title, file string
	width       int // of a register, in bytes
	slots       int // most that a program needed
}

// begin reads the blocks and brings them into bit-sliced form.
func (m *machine) begin() *program {
	p := new(program)
	var b []*value
	for i := range 8 {
		x := p.load(fmt.Sprintf("%d(SI)", i*m.width))
		b = append(b, p.xor(x, p.load(fmt.Sprintf("%d(DX)", i*m.width))))
	}
	p.outputs = p.addRoundKey(p.transpose(b))
	return p
}

// round is any but the last.
func (m *machine) round(decrypt bool) *program {
	p := new(program)
	b := p.permute(p.subBytes(p.state(), decrypt), "(R10)")
	if decrypt {
		b = p.invMixColumns(b)
	} else {
		b = p.mixColumns(b)
	}
	p.outputs = p.addRoundKey(b)
	return p
}

// end is the last round; it writes the blocks.
func (m *machine) end(decrypt bool) *program {
	p := new(program)
	b := p.permute(p.subBytes(p.state(), decrypt), "(R10)")
	b = p.transpose(p.addRoundKey(b))
	for i := range b {
		x := p.xor(b[i], p.load(fmt.Sprintf("%d(DX)", i*m.width)))
		p.add(&value{op: "STORE", args: []*value{x}, mem: fmt.Sprintf("%d(DI)", i*m.width)})
	}
	return p
}

// order returns the values of p in another order: of those that can be computed,
// one that leaves few values alive, and one of them at random.
func (p *program) order(r *rand.Rand) []*value {
	uses, users := map[*value]int{}, map[*value][]*value{}
	missing := map[*value]int{}
	for _, v := range p.values {
		for _, a := range v.args {
			uses[a]++
			users[a] = append(users[a], v)
			if !slices.Contains(p.inputs, a) {
				missing[v]++
			}
		}
	}
	for _, v := range p.outputs {
		uses[v]++
	}
	var ready, order []*value
	for _, v := range p.values {
		if missing[v] == 0 {
			ready = append(ready, v)
		}
	}
	for len(ready) > 0 {
		best, least := 0, 1e9
		for i, v := range ready {
			alive := 1.0 + r.Float64()/2
			for _, a := range v.args {
				if uses[a] == 1 {
					alive--
				}
				alive -= 0.3 / float64(uses[a])
			}
			if v.op == "STORE" {
				alive--
			}
			if v.op == "KEY" || v.op == "LOAD" {
				alive += 0.5
			}
			// What lets others be computed comes early.
			for _, u := range users[v] {
				if missing[u] == 1 {
					alive -= 0.4
				}
			}
			if alive < least {
				best, least = i, alive
			}
		}
		v := ready[best]
		ready = slices.Delete(ready, best, best+1)
		order = append(order, v)
		for _, a := range v.args {
			uses[a]--
		}
		for _, u := range users[v] {
			if missing[u]--; missing[u] == 0 {
				ready = append(ready, u)
			}
		}
	}
	return order
}

// compile returns the shortest code for some orders of p.
func (m *machine) compile(p *program) string {
	r := rand.New(rand.NewPCG(3, 4))
	best := m.emit(p, p.values)
	for range 50 {
		if e := m.emit(p, p.order(r)); e.count < best.count {
			best = e
		}
	}
	m.slots = max(m.slots, best.slots)
	return best.out.String()
}

// An emitter assigns registers, in the order of the values. What does not fit, the
// value whose next use is furthest away, goes to a slot on the stack.
type emitter struct {
	m     *machine
	out   bytes.Buffer
	count int
	inReg [16]*value
	next  map[*value][]int // positions of the uses to come
	slots int
	free  []int // slots

	unused []int // slots that are free once the next instruction has read them
}

func (e *emitter) instruction(format string, args ...any) {
	fmt.Fprintf(&e.out, "\t"+format+"\n", args...)
	e.count++
}

// name returns the name of register i.
func (m *machine) name(i int) string {
	if m.width == 32 {
		return fmt.Sprintf("Y%d", i)
	}
	return fmt.Sprintf("X%d", i)
}

func (e *emitter) slotName(slot int) string { return fmt.Sprintf("%d(R13)", slot*e.m.width) }

// move returns the mnemonic for a copy between registers or aligned memory.
func (m *machine) move() string {
	if m.width == 32 {
		return "VMOVDQA"
	}
	return "MOVO"
}

// register returns a free register other than those of keep, preferably the one
// wanted.
func (e *emitter) register(want int, keep ...*value) int {
	if want >= 0 && e.inReg[want] == nil {
		return want
	}
	for i := len(e.inReg) - 1; i >= 0; i-- {
		if e.inReg[i] == nil {
			return i
		}
	}
	victim, furthest := -1, -1
	for i, v := range e.inReg {
		if slices.Contains(keep, v) {
			continue
		}
		if at := e.next[v][0]; at > furthest || at == furthest && v.slot >= 0 {
			victim, furthest = i, at
		}
	}
	v := e.inReg[victim]
	if v.slot < 0 {
		if len(e.free) == 0 {
			e.free = append(e.free, e.slots)
			e.slots++
		}
		v.slot = e.free[len(e.free)-1]
		e.free = e.free[:len(e.free)-1]
		e.instruction("%s %s, %s", e.m.move(), e.m.name(victim), e.slotName(v.slot))
	}
	v.reg, e.inReg[victim] = -1, nil
	return victim
}

// used notes a use of v, after the last of which it has no place any more.
func (e *emitter) used(v *value) {
	e.next[v] = e.next[v][1:]
	if len(e.next[v]) > 0 {
		return
	}
	if v.reg >= 0 {
		e.inReg[v.reg] = nil
	}
	if v.slot >= 0 {
		e.unused = append(e.unused, v.slot)
	}
}

// fetch brings v from its slot into a register.
func (e *emitter) fetch(v *value, keep ...*value) {
	if v.reg < 0 {
		r := e.register(-1, keep...)
		e.instruction("%s %s, %s", e.m.move(), e.slotName(v.slot), e.m.name(r))
		v.reg, e.inReg[r] = r, v
	}
}

func (e *emitter) place(v *value) string {
	if v.reg >= 0 {
		return e.m.name(v.reg)
	}
	return e.slotName(v.slot)
}

// emit returns the code for the values of p in that order.
func (m *machine) emit(p *program, order []*value) *emitter {
	e := &emitter{m: m, next: map[*value][]int{}}
	for i, v := range order {
		v.reg, v.slot = -1, -1
		for _, a := range v.args {
			e.next[a] = append(e.next[a], i)
		}
	}
	for i, v := range p.inputs {
		v.reg, v.slot = i, -1
		e.inReg[i] = v
	}
	want := map[*value]int{}
	for i, v := range p.outputs {
		e.next[v] = append(e.next[v], len(order))
		want[v] = i + 1
	}
	for _, v := range order {
		e.value(v, want[v]-1)
		e.free, e.unused = append(e.free, e.unused...), nil
	}
	e.arrange(p.outputs)
	return e
}

// value emits the instructions for v, preferably with the result in register want
// unless that is -1.
func (e *emitter) value(v *value, want int) {
	avx := e.m.width == 32
	switch v.op {
	case "LOAD", "KEY":
		op := "MOVOU"
		if avx {
			op = "VMOVDQU"
		}
		if avx && v.op == "KEY" {
			op = "VBROADCASTI128"
		}
		v.reg = e.register(want)
		e.instruction("%s %s, %s", op, v.mem, e.m.name(v.reg))
	case "STORE":
		op := "MOVOU"
		if avx {
			op = "VMOVDQU"
		}
		e.fetch(v.args[0])
		e.instruction("%s %s, %s", op, e.m.name(v.args[0].reg), v.mem)
		e.used(v.args[0])
		return
	case "PSHUFD":
		from := e.place(v.args[0])
		e.used(v.args[0])
		v.reg = e.register(want, v.args...)
		op := v.op
		if avx {
			op = "V" + op
		}
		e.instruction("%s %s, %s, %s", op, v.imm, from, e.m.name(v.reg))
	default:
		if avx {
			e.threeOperands(v, want)
		} else {
			e.twoOperands(v, want)
		}
	}
	e.inReg[v.reg] = v
}

// sources returns the arguments of v, the second of which may be nil. They may
// change places.
func sources(v *value) (a, b *value, commute bool) {
	if len(v.args) == 1 {
		return v.args[0], nil, false
	}
	return v.args[0], v.args[1], v.op == "PXOR" || v.op == "PAND"
}

// second returns the second operand of v, which is b unless that is nil.
func (e *emitter) second(v, b *value) string {
	switch {
	case b != nil:
		return e.place(b)
	case v.mem != "":
		return v.mem
	}
	return v.imm
}

// threeOperands emits an operation with AVX: the second operand may be in memory.
func (e *emitter) threeOperands(v *value, want int) {
	a, b, commute := sources(v)
	if commute && a.reg < 0 && b.reg >= 0 {
		a, b = b, a
	}
	e.fetch(a, v.args...)
	if b != nil && b.reg < 0 && len(e.next[b]) > 1 && slices.Contains(e.inReg[:], nil) {
		e.fetch(b, v.args...)
	}
	first, second := e.m.name(a.reg), e.second(v, b)
	for _, x := range v.args {
		e.used(x)
	}
	v.reg = e.register(want, v.args...)
	e.instruction("V%s %s, %s, %s", v.op, second, first, e.m.name(v.reg))
}

// twoOperands emits an operation without AVX: the result replaces the first operand,
// which is copied if it is still needed.
func (e *emitter) twoOperands(v *value, want int) {
	a, b, commute := sources(v)
	dies := func(x *value) bool { return x.reg >= 0 && len(e.next[x]) == 1 }
	if commute && !dies(a) && (dies(b) || b.reg < 0 && a.reg >= 0) {
		a, b = b, a // no copy, or a load in place of a copy
	}
	if dies(a) {
		v.reg = a.reg
	} else {
		v.reg = e.register(want, v.args...)
		e.instruction("MOVO %s, %s", e.place(a), e.m.name(v.reg))
	}
	e.instruction("%s %s, %s", v.op, e.second(v, b), e.m.name(v.reg))
	for _, x := range v.args {
		e.used(x)
	}
}

// arrange moves the outputs to registers 0 to 7.
func (e *emitter) arrange(outputs []*value) {
	move := func(from, to int) {
		e.instruction("%s %s, %s", e.m.move(), e.m.name(from), e.m.name(to))
		v := e.inReg[from]
		e.inReg[from], e.inReg[to], v.reg = nil, v, to
	}
	for _, v := range outputs {
		e.fetch(v)
	}
	for done := false; !done; {
		done = true
		stuck := -1
		for i, v := range outputs {
			if v.reg == i {
				continue
			}
			done = false
			if e.inReg[i] == nil {
				move(v.reg, i)
				stuck = -1
				break
			}
			stuck = i
		}
		if stuck >= 0 { // a cycle: one of it steps aside
			move(stuck, e.register(-1, outputs...))
		}
	}
}

func (m *machine) writeFile(dir string) error {
	var code bytes.Buffer
	for _, decrypt := range []bool{false, true} {
		begin, round, end := m.compile(m.begin()), m.compile(m.round(decrypt)), m.compile(m.end(decrypt))
		m.function(&code, decrypt, begin, round, end)
	}
	var file bytes.Buffer
	m.header(&file)
	// The size of the frame, with a slot for alignment, is known only now.
	file.Write(bytes.ReplaceAll(code.Bytes(), []byte("FRAME"), fmt.Append(nil, (m.slots+1)*m.width)))
	return os.WriteFile(filepath.Join(dir, m.file), file.Bytes(), 0o666)
}

func (m *machine) header(w *bytes.Buffer) {
	fmt.Fprintf(w, `// Code generated by aes_bs_gen.go. DO NOT EDIT.

//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// Bit-sliced AES of %d blocks with %s, with the same block added before and after as
// in XTS.
//
// Sources: FIPS 197; Käsper and Schwabe, "Faster and Timing-Attack Resistant
// AES-GCM", 2009; Boyar and Peralta, "A Small Depth-16 Circuit for the AES S-Box",
// 2011; how they are put together is in aes_bs_gen.go. The instructions are from
// the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.

`, m.width/2, m.title)
	for _, c := range []struct {
		n    int
		mask uint64
	}{{1, 0x5555555555555555}, {2, 0x3333333333333333}, {4, 0x0f0f0f0f0f0f0f0f}} {
		fmt.Fprintf(w, "// Bits whose position in a byte is a number without the bit %d.\n", c.n)
		for i := 0; i < m.width; i += 8 {
			fmt.Fprintf(w, "DATA bsBits%d<>+%d(SB)/8, $%#016x\n", c.n, i, c.mask)
		}
		fmt.Fprintf(w, "GLOBL bsBits%d<>(SB), RODATA|NOPTR, $%d\n\n", c.n, m.width)
	}
	fmt.Fprintf(w, `// The byte shuffles of the first round, of those in the middle and of the last, for
// encryption and for decryption. They do ShiftRows or its inverse; the first one
// also brings the state, column by column as in a block, into the form in which the
// bytes of a row make a word, and the last one back.
`)
	offset := 0
	for _, decrypt := range []bool{false, true} {
		for stage := range 3 {
			var mask [16]byte
			for r := range 4 {
				for c := range 4 {
					from := (c + r) % 4
					if decrypt {
						from = (c - r + 4) % 4
					}
					to, source := 4*r+c, 4*r+from
					if stage == 0 {
						source = 4*from + r
					}
					if stage == 2 {
						to = 4*c + r
					}
					mask[to] = byte(source)
				}
			}
			for lane := 0; lane < m.width; lane += 16 {
				for half := range 2 {
					var x uint64
					for i := range 8 {
						x |= uint64(mask[8*half+i]) << (8 * i)
					}
					fmt.Fprintf(w, "DATA bsShuffles<>+%d(SB)/8, $%#016x\n", offset, x)
					offset += 8
				}
			}
		}
	}
	fmt.Fprintf(w, "GLOBL bsShuffles<>(SB), RODATA|NOPTR, $%d\n\n", offset)
}

func (m *machine) function(w *bytes.Buffer, decrypt bool, begin, round, end string) {
	direction, shuffles := "Encrypt", 0
	if decrypt {
		direction, shuffles = "Decrypt", 3*m.width
	}
	reg := m.name(0)[:1]
	fmt.Fprintf(w, `// func bs%[1]s%[2]s(k *bsKeys, dst, src, tweaks *byte)
//
//	AX    the last round key
//	DX    tweaks
//	DI    dst
//	SI    src
//	R9    the next round key
//	R10   the shuffle of the round
//	R11   the shuffle of the next one
//	R13   stack, aligned to %[3]d
//	%[4]s0-7  bits 0 to 7 of all bytes between the rounds; blocks in the order of
//	      memory before and after them
//	%[4]s8-15 and the stack: intermediate values
TEXT ·bs%[1]s%[2]s(SB), NOSPLIT, $FRAME-32
	MOVQ k+0(FP), AX
	MOVQ dst+8(FP), DI
	MOVQ src+16(FP), SI
	MOVQ tweaks+24(FP), DX
	MOVQ bsKeys_first(AX), R9
	ADDQ AX, R9
	ADDQ $(bsKeys_planes+14*128), AX
	LEAQ stack-FRAME+%[5]d(SP), R13
	ANDQ $~%[5]d, R13
	LEAQ bsShuffles<>+%[6]d(SB), R10
	LEAQ %[3]d(R10), R11
%[7]s	ADDQ $128, R9

round:
%[8]s	MOVQ R11, R10
	ADDQ $128, R9
	CMPQ R9, AX
	JNE  round

	// The last round has another shuffle and no MixColumns.
	ADDQ $%[3]d, R10
%[9]s`, direction, m.title, m.width, reg, m.width-1, shuffles, begin, round, end)
	// Intermediate values do not stay on the stack.
	if m.width == 32 {
		fmt.Fprintf(w, "\tVPXOR Y0, Y0, Y0\n")
	} else {
		fmt.Fprintf(w, "\tPXOR X0, X0\n")
	}
	for i := range m.slots {
		fmt.Fprintf(w, "\t%s %s, %d(R13)\n", m.move(), m.name(0), i*m.width)
	}
	if m.width == 32 {
		fmt.Fprintf(w, "\tVZEROUPPER\n")
	}
	fmt.Fprintf(w, "\tRET\n")
	if !decrypt {
		fmt.Fprintf(w, "\n")
	}
}
