package workqueue

// Attrs returns the attributes that the queue was made with.
func (q *Queue) Attrs() Attrs { return q.attrs }
